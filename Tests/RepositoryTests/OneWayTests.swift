import CommandKit
import Foundation
import TestSupport
import Testing

/// Tasks that one place does for all code.
@Suite struct OneWayTests {
    /// Occurrences of the words in code, by file.
    private func count(_ words: [String], under folder: String) throws -> [String: Int] {
        var found: [String: Int] = [:]
        for path in try Page.paths(withSuffix: ".swift", under: [folder]) {
            let source = try RepositoryTests.contents(path)
            let lines = source.split(separator: "\n").map { " " + $0.drop { $0 == " " } }.filter {
                !$0.hasPrefix(" //")
            }
            let count = lines.reduce(0) { sum, line in
                sum + words.reduce(0) { $0 + line.ranges(of: $1).count }
            }
            if count > 0 { found[path] = count }
        }
        return found
    }

    @Test func `what btcall prints goes through Output, which cleans it`() throws {
        let programs = "Sources/Programs"
        let raw = ["output.write(", "terminal.write(", "screen.write(", "talk.write(", ".writeError("]
        // A script for a shell, a configuration file, and a question without foreign text.
        #expect(
            try count(raw, under: programs) == [
                "\(programs)/BTCallCommand/Commands/CompletionsCommand.swift": 1,
                "\(programs)/BTCallCommand/Commands/SetupCommand.swift": 2,
                "\(programs)/btcall-lab/Commands/LabCompletionsCommand.swift": 1,
            ])
        // The demo has no names from outside.
        let printing = [" print(", "fputs(", " puts(", "FileHandle.standardOutput", "FileHandle.standardError"]
        let found = try count(printing, under: programs)
            .filter { !$0.key.hasSuffix("/Output.swift") && !$0.key.contains("/IntercomExample/") }
        #expect(found == ["\(programs)/btcall-lab/Commands/DemoCommand.swift": 3])
    }

    @Test func `connections are accepted by listeners that wait for a free descriptor`() throws {
        #expect(
            try count(["btcall_accept(", "accept4(", "Glibc.accept("], under: "Sources") == [
                "Sources/Shells/ControlLoop/Listener.swift": 1, "Sources/Shells/BluetoothSockets/SocketHandle.swift": 1,
            ])
    }

    @Test func `standard error of the daemon is written to by one that never waits`() throws {
        for folder in ["Sources/Shells/ControlLoop", "Sources/Daemon", "Sources/Programs/btcalld"] {
            #expect(try count(["write(2,", "STDERR_FILENO", "stderr"], under: folder) == [:])
        }
    }
}
