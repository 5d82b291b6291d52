import ArgumentParser
import BTCall
import CallExchange
import CommandKit
import CommandTestSupport
import Foundation
import JSONText
import Testing

@testable import BTCallCommand

@Suite(.timeLimit(.minutes(1))) struct CommandLineTests {
    private func refusal(_ arguments: [String]) -> (text: String, code: Int32)? {
        do {
            _ = try Entry.command(for: arguments)
            return nil
        } catch {
            return (Entry.message(for: error), Entry.exitCode(for: error).rawValue)
        }
    }

    @Test(arguments: [
        ["select", "earpiece", "--clear"], ["mute", "maybe"], ["dance"],
        ["status", "--bus", "x"],
        ["test-call", "--far-end", "tone:3"], ["test-call", "--rate", "44000"], ["test-call", "--seconds", "-1"],
        ["test-call", "--answer-after", "soon"], ["test-call", "--incoming", "--outgoing"],
        ["config", "--reset"], ["config", "exclude", "earpiece", "--reset"], ["exclude", "--remove"],
        ["exclude", "earpiece", "--clear"], ["exclude", "none"], ["prefer", ""],
        ["order", "00:00:5E:00:53:01", "--clear"], ["interrupt"], ["interrupt", "page"], ["interrupt", "--", "true"],
        ["session", "activate"], ["session", "dance"], ["select", "--clear", "--", "true"],
        ["select", "none", "--", "true"], ["select", "--", "true"],
        ["why", "--at", "noon"], ["why", "--at"], ["replay"], ["incident", "now"],
        ["quirks", "dance", "twice"], ["headset", "connect"], ["headset", "volume", "x", "loud"],
        ["dial"], ["dial", ""], ["dtmf"], ["dtmf", ""], ["dtmf", "12x"], ["hold", "1", "2"],
        ["watch"], ["watch", "--exec", "true", "--event", "ring"], ["watch", "--exec", "true", "--timeout", "0"],
        ["provider", "--capabilities", "hold,video"], ["provider", "--capabilities", ""], ["provider", "--rate", "44"],
        ["call", "report", "incoming"], ["call", "report", "sideways", "1"], ["call", "report", "outgoing", ""],
        ["call", "report", "incoming", "1", "--alerting"], ["call", "update"], ["call", "update", "ringing"],
        ["call", "update", "active", "--reason", "busy"], ["call", "update", "ended", "--reason", "bored"],
        ["web", "token", "--scope", "everything"], ["web", "token", "--scope", ""],
        ["web", "token", "--scope", "read,"],
        ["web", "token", "--for", "0s"], ["web", "token", "--for", "1w"], ["web", "token", "--for", "367d"],
        ["web", "token", "--for", "-1h"], ["web", "token", "--for", "9223372036854775807d"], ["web", "dance"],
    ])
    func `An invalid command line ends with 64`(arguments: [String]) throws {
        #expect(try #require(refusal(arguments)).code == 64)
    }

    @Test func `test-call reads all its options`() throws {
        let arguments = [
            "test-call", "--outgoing", "--number", "1", "--far-end", "a.wav", "--loop", "--record", "b.wav",
            "--seconds", "2.5", "--answer-after", "0", "--json", "--bus", "session",
        ]
        let command = try #require(try Entry.command(for: arguments) as? TestCallCommand)
        #expect(command.direction == .outgoing && command.farEnd == .file("a.wav") && command.loop)
        #expect(command.seconds == .milliseconds(2500) && command.answerAfter == .zero)
        #expect(command.record == "b.wav" && command.options.json && command.options.bus == .session)
    }

    @Test(arguments: [
        ["status"], ["devices"], ["prefer", "none"], ["start"], ["calls"], ["answer"], ["mute", "on"], ["why"],
        ["config"], ["exclude"], ["order"], ["session"], ["why", "--at", "-5"], ["incident"],
        ["quirks"], ["quirks", "explain", "00:00:5E:00:53:01"],
        ["dial", "1"], ["hold"], ["resume"], ["dtmf", "1"],
        ["provider"],
        ["call", "report", "incoming", "1"], ["call", "update", "ended"],
    ])
    func `Without the daemon every verb says how to start it, and ends with 3`(arguments: [String]) async throws {
        let bus = try PrivateBus()
        let run = try await Self.run(arguments, bus)
        #expect(run.status == 3)
        #expect(
            run.errors == """
                btcall: btcalld is not running on the bus at \(bus.address): start it with `btcalld --bus \(bus.address)`

                """)
    }

    @Test func `Without the daemon a test call says how to start it`() async throws {
        let run = try await Self.run(["test-call"], try PrivateBus())
        #expect(run.status == 3)
        #expect(run.errors.contains("start it with"))
    }

    private static func run(_ arguments: [String], _ bus: PrivateBus) async throws -> CommandRun {
        let command = try CommandRun.parse(arguments + ["--bus", bus.address])
        let capture = Capture()
        let status = await exitStatus(capture.sink) {
            let bridge = try await CallBridge(bus: command.options.bus)
            try await command.perform(on: bridge, capture.sink)
        }
        return CommandRun(status: status, output: capture.output, errors: capture.errors)
    }

    @Test func `Without a bus the program says which, and ends with 3`() throws {
        let program = try #require(Self.program)
        let process = try ChildProcess(
            program.path(), ["status", "--bus", "unix:path=/nonexistent/bus"], capturing: .errors)
        let (text, status) = process.finish()
        #expect(status == 3)
        #expect(text.hasPrefix("btcall: cannot reach the bus at unix:path=/nonexistent/bus: "))
    }

    /// The program built with these tests.
    static var program: URL? { BuiltProgram.named("btcall", "BTCallCommand") }
}
