package import Configuration
package import ControlLoop
package import Diagnostics
package import Logging

/// The board's pairing button (`[pairing] button`); retries while it is missing.
@ControlPlane
package final class PairingButton {
    package static let retryPause = Duration.seconds(10)
    private static let problem = "pairing.button"

    package var onPressed: (@ControlPlane () -> Void)?
    private let specification: HookSpecification
    private let source: any BoardOpening
    private let problems: ProblemList
    private let logger: Logger
    private var contact: BoardContact<Bool>?
    private var retry: Timer?

    package init(
        _ specification: HookSpecification, source: any BoardOpening, problems: ProblemList, logger: Logger
    ) {
        self.specification = specification
        self.source = source
        self.problems = problems
        self.logger = logger
    }

    package func start() {
        guard contact == nil else { return }
        do throws(BoardError) {
            let opened = try source.openHook(specification)
            contact = opened
            opened.onChange = { [weak self, weak opened] in if opened?.state == true { self?.onPressed?() } }
            opened.onGone = { [weak self] in self?.lost() }
            problems.end(Self.problem)
            logger.info("the pairing button is \(specification)")
        } catch {
            problems.begin(
                Self.problem, what: "the pairing button \(specification) is not watched: \(error.what)",
                remedy: error.remedy)
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
        logger.notice("the pairing button \(specification) has gone")
        startLater()
    }

    private func startLater() {
        retry?.cancel()
        retry = ControlLoop.shared.schedule(after: Self.retryPause) { [weak self] in self?.start() }
    }
}
