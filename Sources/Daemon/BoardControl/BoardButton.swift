package import Configuration
package import ControlLoop
package import Diagnostics
package import Logging

/// A button or key of the board, for pairing or for talking; retries while it is missing.
@ControlPlane
package final class BoardButton {
    package static let retryPause = Duration.seconds(10)

    package var onOpened: (@ControlPlane () -> Void)?
    /// Pressed or released.
    package var onChange: (@ControlPlane (Bool) -> Void)?
    package var onGone: (@ControlPlane () -> Void)?
    private let specification: HookSpecification
    private let name: String
    private let problem: String
    private let source: any BoardOpening
    private let problems: ProblemList
    private let logger: Logger
    private var contact: BoardContact<Bool>?
    private var retry: Timer?

    /// - Parameters:
    ///   - name: what messages call it, for example "pairing button".
    ///   - problem: key of the problem while it is missing.
    package init(
        _ specification: HookSpecification, name: String, problem: String, source: any BoardOpening,
        problems: ProblemList, logger: Logger
    ) {
        self.specification = specification
        self.name = name
        self.problem = problem
        self.source = source
        self.problems = problems
        self.logger = logger
    }

    package func start() {
        guard contact == nil else { return }
        do throws(BoardError) {
            let opened = try source.openHook(specification)
            contact = opened
            opened.onChange = { [weak self, weak opened] in
                if let opened { self?.onChange?(opened.state) }
            }
            opened.onGone = { [weak self] in self?.lost() }
            problems.end(problem)
            logger.info("the \(name) is \(specification)")
            onOpened?()
        } catch {
            problems.begin(
                problem, what: "the \(name) \(specification) is not watched: \(error.what)", remedy: error.remedy)
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
        onGone?()
        logger.notice("the \(name) \(specification) has gone")
        startLater()
    }

    private func startLater() {
        retry?.cancel()
        retry = ControlLoop.shared.schedule(after: Self.retryPause) { [weak self] in self?.start() }
    }
}
