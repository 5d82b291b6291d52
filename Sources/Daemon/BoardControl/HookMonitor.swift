package import Configuration
package import ControlLoop
package import Diagnostics
package import Logging
package import Routing

/// Reports when the handset is lifted and hung up; checks again for a hook that was not found.
@ControlPlane
package final class HookMonitor {
    package var onEvent: (@ControlPlane (RoutingEvent) -> Void)?
    package private(set) var isLifted = false
    package var isIncomplete: Bool { contact == nil }
    private let specification: HookSpecification
    private let source: any BoardOpening
    private let problems: ProblemList
    private let logger: Logger
    private var contact: BoardContact<Bool>?
    private static let problem = "hook.earpiece"

    package init(
        specification: HookSpecification, source: any BoardOpening, problems: ProblemList, logger: Logger
    ) {
        self.specification = specification
        self.source = source
        self.problems = problems
        self.logger = logger
    }

    /// The area in which the hook comes and goes.
    package var area: BoardArea {
        switch specification.source {
        case .input: .inputs
        case .line: .lines
        }
    }

    /// Opens the hook if it is not open, and checks whether it still exists.
    package func look() {
        contact?.refresh()
        if contact == nil {
            do throws(BoardError) {
                let opened = try source.openHook(specification)
                contact = opened
                opened.onChange = { [weak self] in self?.update() }
                opened.onGone = { [weak self] in self?.lose() }
                problems.end(Self.problem)
                logger.info("the hook of earpiece is watched by \(specification)")
            } catch {
                problems.begin(
                    Self.problem, what: "earpiece: the hook \(specification) is not watched: \(error.what)",
                    remedy: error.remedy)
            }
        }
        update()
    }

    /// Reads the hardware again, even without a notification.
    package func refresh() { look() }

    package func stop() {
        contact?.close()
        contact = nil
    }

    private func lose() {
        contact = nil
        logger.notice("the hook \(specification) of earpiece has gone")
        update()
        ControlLoop.shared.perform { [weak self] in self?.look() }
    }

    /// Updates the state. A hook that has gone counts as hung up, which withdraws its choice.
    private func update() {
        let now = contact?.state ?? false
        guard now != isLifted else { return }
        isLifted = now
        logger.debug("the handset is \(now ? "lifted" : "hung up")")
        onEvent?(now ? .handsetOffHook : .handsetOnHook)
    }
}
