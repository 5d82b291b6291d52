package import ControlLoop
package import Logging

/// The current problems and their remedies, as `btcall status` shows them.
///
/// A problem is logged once when it is raised and once when it is cleared.
@ControlPlane
package final class ProblemList {
    package struct Problem: Equatable, Sendable {
        /// A stable identifier for programs, such as `bluetoothd` or `device.earpiece`.
        package let id: String
        package let what: String
        package let remedy: String
    }

    package private(set) var problems: [Problem] = []
    /// The list has changed.
    package let changes = Signal<Void>()
    /// A new problem has been raised.
    package let begun = Signal<Problem>()
    private let logger: Logger

    package init(logger: Logger) {
        self.logger = logger
    }

    package func begin(_ id: String, what: String, remedy: String) {
        let problem = Problem(id: id, what: what, remedy: remedy)
        let isNew = !problems.contains { $0.id == id }
        if let index = problems.firstIndex(where: { $0.id == id }) {
            guard problems[index] != problem else { return }
            problems[index] = problem
        } else {
            problems.append(problem)
        }
        logger.warning("\(what): \(remedy)")
        changes.send()
        if isNew { begun.send(problem) }
    }

    package func end(_ id: String) {
        guard let index = problems.firstIndex(where: { $0.id == id }) else { return }
        let problem = problems.remove(at: index)
        logger.notice("no longer: \(problem.what)")
        changes.send()
    }
}
