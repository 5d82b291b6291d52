import ArgumentParser
import BTCall
import BTCallAPI
import CommandKit
import CommandTestSupport
import ControlLoop
import Foundation
import Testing

@testable import BTCallCommand

/// Present and earlier names of verbs, and the places of their options.
@Suite(.timeLimit(.minutes(1))) struct VerbNamesTests {
    /// Each old name with typed arguments, and its present form.
    private static let lines: [(old: [String], new: [String])] = [
        (["activate"], ["daemon", "activate"]),
        (["conference"], ["merge"]),
        (["deactivate"], ["daemon", "deactivate"]),
        (["default", "earpiece"], ["fallback", "earpiece"]),
        (["exclude", "earpiece", "--remove"], ["headset", "exclude", "earpiece", "--remove"]),
        (["forget", "00:00:5E:00:53:01"], ["headset", "forget", "00:00:5E:00:53:01"]),
        (["incident", "--addresses"], ["daemon", "incident", "--addresses"]),
        (["log", "--missed"], ["history", "--missed"]),
        (["logout", "--forget-headsets"], ["daemon", "logout", "--forget-headsets"]),
        (["metrics"], ["daemon", "metrics"]),
        (["order", "Jabra", "Sony"], ["headset", "order", "Jabra", "Sony"]),
        (["pair", "--window", "60"], ["headset", "pair", "--window", "60"]),
        (["quirks"], ["headset", "quirks"]),
        (["quirks", "explain", "Jabra"], ["headset", "quirks", "Jabra"]),
        (["quirks", "list"], ["headset", "quirks"]),
        (["scan", "--seconds", "5"], ["headset", "scan", "--seconds", "5"]),
        (["select", "earpiece", "--", "true", "pair"], ["move", "earpiece", "--", "true", "pair"]),
        (["start"], ["daemon", "routing", "on"]),
        (["stop"], ["daemon", "routing", "off"]),
        (["trust", "Jabra", "--revoke"], ["headset", "trust", "Jabra", "--revoke"]),
        (["voice", "echo", "off"], ["processing", "echo", "off"]),
    ]

    @Test func `Every old name becomes the present verb with its arguments`() throws {
        #expect(
            Set(Self.lines.map { Array($0.old.prefix($0.old.first == "quirks" ? 2 : 1)) }).count == OldVerbs.names.count
        )
        for line in Self.lines {
            #expect(CommandWords.arranged(line.old, of: Entry.self, OldVerbs.names) == line.new)
            let command = type(of: try Entry.command(for: line.old))
            let isLeaf = command.configuration.subcommands.isEmpty
            #expect(isLeaf && !HelpTests.verbs.contains { $0.words == Array(line.old.prefix(1)) }, "\(line.old)")
            // So does a request for its help.
            let help = CommandWords.arranged(["help"] + line.old.prefix(1), of: Entry.self, OldVerbs.names)
            #expect(help.count >= 2 && help.first == "help" && help[1] == line.new[0])
        }
    }

    @Test(arguments: [
        ["--json", "--bus", "unix:path=/a", "status"], ["status", "--bus", "unix:path=/a", "--json"],
        ["--bus=unix:path=/a", "status", "--json"], ["--json", "status", "--bus=unix:path=/a"],
    ])
    func `Options of every verb may precede or follow it`(_ arguments: [String]) throws {
        let command = try #require(try Entry.command(for: arguments) as? StatusCommand)
        #expect(command.options.json && command.options.bus == .address("unix:path=/a"))
    }

    @Test(arguments: [
        (["--json", "headset"], ["headset", "--json"]),
        (["headset", "--json", "list"], ["headset", "list", "--json"]),
        (
            ["--color", "never", "headset", "--bus", "session", "show", "Jabra"],
            ["headset", "show", "Jabra", "--color", "never", "--bus", "session"]
        ),
        (["--json", "pair", "--window", "9"], ["headset", "pair", "--window", "9", "--json"]),
        (["--json", "move", "earpiece", "--", "x", "--json"], ["move", "earpiece", "--json", "--", "x", "--json"]),
        (["why", "--at", "-90"], ["why", "--at", "-90"]),
        (["---completion", "select", "--", "--bus"], ["---completion", "select", "--", "--bus"]),
        (["--bus"], ["--bus"]), ([], []),
    ])
    func `A command line is put into the parser's order`(_ typed: [String], _ arranged: [String]) {
        #expect(CommandWords.arranged(typed, of: Entry.self, OldVerbs.names) == arranged)
    }

    @Test(arguments: [[], ["--help"], ["-h"], ["help"], ["--bus", "session"], ["--json", "--help"]])
    func `Without a verb the program prints a screen of 25 lines`(_ arguments: [String]) throws {
        let program = try #require(CommandLineTests.program)
        let (text, status) = try ChildProcess(program.path(), arguments, capturing: .output).finish()
        #expect(status == 0)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        #expect(lines.count <= 25, "\(lines.count)")
        for line in lines { #expect(line.count <= 80, "\(line)") }
        for word in ["dial", "history", "move", "headset", "pair", "processing", "provider", "doctor", "daemon"] {
            #expect(text.contains(word))
        }
        #expect(text.contains("btcall help --all"))
    }

    @Test func `The examples of the first screen are accepted`() throws {
        let examples = Entry.firstScreen.lines.filter { $0.hasPrefix("  btcall ") }
        #expect(examples.count >= 5)
        for example in examples {
            _ = try Entry.command(for: Array(CommandExamples.split(String(example.dropFirst(2))).dropFirst()))
        }
    }

    @Test func `help --all has every verb, and --version the version`() throws {
        let program = try #require(CommandLineTests.program)
        let (text, _) = try ChildProcess(program.path(), ["help", "--all"], capturing: .output).finish()
        for (words, _) in HelpTests.verbs where words.count == 1 { #expect(text.contains("\n  \(words[0]) ")) }
        let (version, status) = try ChildProcess(program.path(), ["--version"], capturing: .output).finish()
        #expect(version == "btcall \(ProductVersion.current)\n" && status == 0)
    }

    // MARK: Failures for programs

    @Test func `With --json a failure is an object with the bus's name of the error`() async throws {
        let bus = try PrivateBus()
        let daemon = try await FakeDaemon(bus.address)
        func failure(_ arguments: String...) async throws -> ([String: Any], Int32) {
            let run = try await CommandRun.btcall(arguments + ["--json"], bus: bus)
            #expect(run.output.isEmpty && run.errors.hasSuffix("}\n") && run.errors.count { $0 == "\n" } == 1)
            let json = try #require(try JSONSerialization.jsonObject(with: Data(run.errors.utf8)) as? [String: Any])
            return (try #require(json["error"] as? [String: Any]), run.status)
        }
        let (refused, status) = try await failure("move", "earpiece")
        #expect(status == 1 && refused["exitCode"] as? Int == 1)
        #expect(refused["code"] as? String == "notStarted")
        #expect(refused["name"] as? String == "org.btcall.Error.NotStarted")
        #expect(refused["message"] as? String == "the router is stopped: `btcall daemon routing on` starts it")
        let (own, _) = try await failure("hangup")
        #expect(own["code"] as? String == "noSuchCall" && own["name"] is NSNull)
        await close(daemon)
        let (absent, code) = try await failure("status")
        #expect(code == 3 && absent["code"] as? String == "notRunning" && absent["exitCode"] as? Int == 3)
        #expect((absent["name"] as? String)?.hasPrefix("org.freedesktop.DBus.Error.") == true)
    }

    @Test func `With --json an invalid command line is an object, too`() throws {
        let program = try #require(CommandLineTests.program)
        let (text, status) = try ChildProcess(program.path(), ["--json", "prefr"], capturing: .errors).finish()
        let json = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        let error = try #require(json["error"] as? [String: Any])
        #expect(status == 64 && error["code"] as? String == "commandLine" && error["exitCode"] as? Int == 64)
        #expect(error["message"] as? String == "unknown verb 'prefr': did you mean 'prefer'?")
    }

    // MARK: Questions

    @Test func `A person at a terminal is asked, and only y proceeds`() async throws {
        for (answer, isDone) in [("y", true), ("Yes", true), ("n", false), ("", false)] {
            let capture = Capture()
            let options = try ConfirmationOptions.parse([])
            let terminal = ConfirmationOptions.Terminal(isPresent: true) { answer }
            do {
                try await options.confirm(capture.sink, terminal) { "this ends 2 calls" }
                #expect(isDone)
            } catch let failure as CommandFailure {
                #expect(!isDone && failure.code == .cancelled)
            }
            #expect(capture.errors == "this ends 2 calls: are you sure? [y/N] ")
        }
    }

    @Test func `No question is asked with --yes, without a terminal, or when nothing is lost`() async throws {
        let capture = Capture()
        let refusing = ConfirmationOptions.Terminal(isPresent: true) { "n" }
        try await ConfirmationOptions.parse(["--yes"]).confirm(capture.sink, refusing) { "a" }
        try await ConfirmationOptions.parse(["-y"]).confirm(capture.sink, refusing) { "a" }
        try await ConfirmationOptions.parse([]).confirm(capture.sink, refusing) { nil }
        try await ConfirmationOptions.parse([]).confirm(
            capture.sink, ConfirmationOptions.Terminal(isPresent: false) { "n" }
        ) { "a" }
        #expect(capture.errors.isEmpty)
    }

    @ControlPlane private func close(_ daemon: FakeDaemon) { daemon.close() }
}
