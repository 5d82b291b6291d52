import ArgumentParser
import CommandKit
import CommandTestSupport

@testable import BTCallCommand

extension Entry {
    /// The verb of a command line, as the program parses it.
    static func command(for arguments: [String]) throws -> any ParsableCommand {
        try parseAsRoot(CommandWords.arranged(arguments, of: Self.self, OldVerbs.names))
    }
}

extension CommandRun {
    /// Runs a verb of btcall in this process.
    static func btcall(_ arguments: String..., bus: PrivateBus) async throws -> CommandRun {
        try await of(Entry.self, arguments, bus: bus, oldNames: OldVerbs.names)
    }

    static func btcall(_ arguments: [String], bus: PrivateBus) async throws -> CommandRun {
        try await of(Entry.self, arguments, bus: bus, oldNames: OldVerbs.names)
    }

    static func parse(_ arguments: [String]) throws -> any BridgeCommand {
        try parse(Entry.self, arguments, oldNames: OldVerbs.names)
    }
}
