package import BoardControl
package import Configuration
package import ControlLoop
package import Diagnostics
package import Logging
import Talk

/// The talk key of the board (`[talk] key`); retries while it is missing.
@ControlPlane
package final class BoardTalkKey {
    package static let retryPause = Duration.seconds(10)
    private static let problem = "talk.key"

    private let specification: HookSpecification
    private let key: TalkKeyID
    private let source: any BoardOpening
    private let keys: TalkKeys
    private let problems: ProblemList
    private let logger: Logger
    private var contact: BoardContact<Bool>?
    private var retry: Timer?

    package init(
        _ specification: HookSpecification, source: any BoardOpening, keys: TalkKeys, problems: ProblemList,
        logger: Logger
    ) {
        self.specification = specification
        key = TalkKeyID(.board, specification.description)
        self.source = source
        self.keys = keys
        self.problems = problems
        self.logger = logger
    }

    package func start() {
        guard contact == nil else { return }
        do throws(BoardError) {
            let opened = try source.openHook(specification)
            contact = opened
            opened.onChange = { [weak self, weak opened] in
                guard let self, let opened else { return }
                keys.signal(opened.state ? .pressed : .released, from: key)
            }
            opened.onGone = { [weak self] in self?.lost() }
            problems.end(Self.problem)
            // A key that is down already has to be pressed again.
            keys.add(key)
        } catch {
            problems.begin(
                Self.problem, what: "the talk key \(specification) is not watched: \(error.what)", remedy: error.remedy)
            startLater()
        }
    }

    package func stop() {
        retry?.cancel()
        contact?.close()
        contact = nil
    }

    private func lost() {
        contact = nil
        keys.remove(key)
        logger.notice("the talk key \(specification) has gone")
        startLater()
    }

    private func startLater() {
        retry?.cancel()
        retry = ControlLoop.shared.schedule(after: Self.retryPause) { [weak self] in self?.start() }
    }
}
