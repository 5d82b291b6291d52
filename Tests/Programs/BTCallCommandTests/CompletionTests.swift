import ArgumentParser
import BTCall
import BTCallAPI
import BluetoothTypes
import CommandKit
import CommandTestSupport
import ControlLoop
import DBus
import Foundation
import Spelling
import Testing

@testable import BTCallCommand

@Suite(.timeLimit(.minutes(1))) struct CompletionTests {
    @Test func `A candidate has its meaning in each shell's format`() {
        let candidates = [CompletionCandidate("bluetooth:00:01", "Jabra"), CompletionCandidate("none")]
        #expect(CompletionCandidate.lines(candidates, for: .bash) == ["bluetooth:00:01", "none"])
        #expect(CompletionCandidate.lines(candidates, for: .zsh) == ["bluetooth\\:00\\:01:Jabra", "none"])
        #expect(CompletionCandidate.lines(candidates, for: .fish) == ["bluetooth:00:01\tJabra", "none"])
    }

    @Test func `The bus is the one already typed`() {
        #expect(CompletionCandidate.bus(in: ["btcall", "prefer", "--bus", "session", ""]) == .session)
        #expect(CompletionCandidate.bus(in: ["btcall", "--bus=unix:path=/a"]) == .address("unix:path=/a"))
        #expect(CompletionCandidate.bus(in: ["btcall", "prefer", "--bus"]) == CommonOptions.usualBus())
        #expect(CompletionCandidate.bus(in: ["btcall", "--bus", "nonsense"]) == CommonOptions.usualBus())
    }

    @Test func `Values are offered where they are words`() {
        #expect(AcceptedWords.words(in: "trace, debug, info") == ["trace", "debug", "info"])
        #expect(AcceptedWords.words(in: "yes or no") == ["yes", "no"])
        #expect(AcceptedWords.words(in: "stay, take") == ["stay", "take"])
        #expect(AcceptedWords.words(in: "a list of lc3-swb, msbc, cvsd") == [])
        #expect(AcceptedWords.words(in: "0 to 15") == [] && AcceptedWords.words(in: "") == [])
    }

    @Test func `Devices, calls and keys come from the running btcalld`() async throws {
        let bus = try PrivateBus()
        let daemon = try await FakeDaemon(bus.address)
        await prepare(daemon) { daemon in
            daemon.router.devices = [
                DeviceDescription(
                    device: .headset(BluetoothAddress(value: 0x0000_5E00_5301)), name: "Jabra", isAvailable: true,
                    output: "sco:00:00:5E:00:53:01", input: "sco:00:00:5E:00:53:01", battery: nil, codecs: ["CVSD"],
                    category: "headset")
            ]
            daemon.addCall(
                CallDescription(
                    id: "6ba7b810-9dad-11d1-80b4-00c04fd430c8", state: .ringing, direction: .incoming,
                    number: "5550100", provider: "phone", index: 3))
            daemon.settings = [
                SettingDescription(
                    key: "daemon.logLevel", value: "info", defaultValue: "info", accepted: "info, debug", effect: .now,
                    origin: .default, summary: "What is logged.")
            ]
        }
        let words = "speakerphone\nwiredHeadset\nearpiece\nbluetooth\nnone\n"
        // The wait is one second at most; a daemon that does not answer within it is asked once more here.
        func offersInTime(_ verb: String, at index: Int, _ word: String, _ expected: String) throws -> Bool {
            for _ in 1...3 where try offers(verb, at: index, word, bus) == expected { return true }
            return false
        }
        #expect(try offersInTime("prefer", at: 0, "", words + "bluetooth:00:00:5E:00:53:01\n"))
        #expect(try offersInTime("headset order", at: 0, "", "00:00:5E:00:53:01\n"))
        #expect(try offersInTime("hangup", at: 0, "", "3\n"))
        #expect(try offersInTime("config", at: 0, "", "daemon.logLevel\n"))
        #expect(try offersInTime("config", at: 1, "logLevel", "info\ndebug\n"))
        #expect(try offers("config", at: 1, "loglevl", bus) == "")
        // Not because the daemon did not answer.
        #expect(try offersInTime("config", at: 1, "logLevel", "info\ndebug\n"))
    }

    @Test func `Without btcalld and without a bus only the always accepted words are offered`() throws {
        let bus = try PrivateBus()
        let words = "speakerphone\nwiredHeadset\nearpiece\nbluetooth\nnone\n"
        #expect(try offers("prefer", at: 0, "", bus) == words)
        #expect(try offers("hangup", at: 0, "", bus) == "")
        #expect(try offers("hangup", at: 0, "", "unix:path=/nonexistent/bus") == "")
    }

    @Test func `Only known shells get a script`() throws {
        for shell in CompletionShell.allCases {
            let command = try #require(try Entry.command(for: ["completions", shell.rawValue]) as? CompletionsCommand)
            #expect(command.shell == shell)
            let script = CompletionScript.text(for: shell, of: Entry.self)
            for (words, _) in HelpTests.verbs { #expect(script.contains(words[words.count - 1]), "\(words)") }
            #expect(!script.contains("'manual'"))
        }
        #expect(throws: (any Error).self) { try Entry.command(for: ["completions", "tcsh"]) }
    }

    @ControlPlane private func prepare(_ daemon: FakeDaemon, _ change: @ControlPlane (FakeDaemon) -> Void) {
        change(daemon)
    }

    private func offers(_ verb: String, at position: Int, _ before: String, _ bus: PrivateBus) throws -> String {
        try offers(verb, at: position, before, bus.address)
    }

    /// The program's candidates for a positional argument; `before` is the preceding one.
    private func offers(_ verb: String, at position: Int, _ before: String, _ address: String) throws -> String {
        let program = try #require(CommandLineTests.program)
        let verb = verb.split(separator: " ").map(String.init)
        let typed = ["btcall", "--bus", address] + verb + (before.isEmpty ? [] : [before]) + [""]
        let arguments =
            ["---completion"] + verb + ["--", "positional@\(position)", String(typed.count - 1), "0"] + typed
        let process = try ChildProcess(program.path(), arguments, capturing: .output)
        let (text, status) = process.finish()
        #expect(status == 0)
        return text
    }
}
