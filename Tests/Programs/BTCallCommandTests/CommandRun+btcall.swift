import ArgumentParser
import CommandKit
import CommandTestSupport

@testable import BTCallCommand

extension CommandRun {
    /// Runs a verb of btcall in this process.
    static func btcall(_ arguments: String..., bus: PrivateBus) async throws -> CommandRun {
        try await of(Entry.self, arguments, bus: bus)
    }

    static func btcall(_ arguments: [String], bus: PrivateBus) async throws -> CommandRun {
        try await of(Entry.self, arguments, bus: bus)
    }

    static func parse(_ arguments: [String]) throws -> any BridgeCommand { try parse(Entry.self, arguments) }
}
