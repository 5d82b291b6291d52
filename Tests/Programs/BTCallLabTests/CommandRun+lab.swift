import CommandKit
import CommandTestSupport

@testable import BTCallLab

extension CommandRun {
    /// Runs a verb of btcall-lab in this process.
    static func lab(_ arguments: String..., bus: PrivateBus) async throws -> CommandRun {
        try await of(LabEntry.self, arguments, bus: bus)
    }
}
