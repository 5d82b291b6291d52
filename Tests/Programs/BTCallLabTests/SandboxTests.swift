import ArgumentParser
import BTCall
import CallExchange
import CommandTestSupport
import Foundation
import Glibc
import Testing

@testable import BTCallLab

/// The program on its own terminal, and an application on the bus that it names.
@Suite(.timeLimit(.minutes(2)), .serialized) struct SandboxTests {
    private func start() throws -> TerminalProcess {
        let program = try #require(LabCommandTests.program).path()
        return try TerminalProcess(program, ["sandbox", "--color", "never"])
    }

    /// The address after `--bus` on the screen.
    private func address(_ terminal: TerminalProcess) throws -> String {
        try terminal.wait(for: "q quit")
        let start = try #require(terminal.text.range(of: "--bus ")).upperBound
        return String(terminal.text[start...].prefix { $0 != "\u{1B}" && $0 != "\r" && $0 != " " })
    }

    @Test func `A call moves to a headset, returns when it dies, and ends with another headset's button`()
        async throws
    {
        let terminal = try start()
        let bridge = try await CallBridge(bus: .address(try address(terminal)))
        terminal.type("o")
        try terminal.wait(for: "the call is on: earpiece")
        try terminal.wait(for: "the call is active")
        terminal.type("1")
        try terminal.wait(for: "the call is on: headset 1")
        let onFirst = try await bridge.status()
        #expect(onFirst.route == DeviceChoice.bluetooth(address: "00:00:5E:00:53:01"))
        #expect(onFirst.calls.map(\.state) == [.active])
        #expect(onFirst.calls.first?.number == "+4930654321")
        terminal.type("k")
        try terminal.wait(for: "headset 1 has died silently")
        try terminal.wait(for: "the call is on: earpiece")
        #expect(try await bridge.status().route == .earpiece)
        terminal.type("2")
        try terminal.wait(for: "the call is on: headset 2")
        terminal.type("n")
        try terminal.wait(for: "the button of headset 2: hang up")
        try terminal.wait(for: "the call is ended")
        #expect(try await bridge.status().calls.isEmpty)
        await bridge.close()
        terminal.type("q")
        #expect(try terminal.waitForEnd() == 0)
        #expect(terminal.isCooked)
        #expect(terminal.text.contains("\u{1B}[?1049l"))
    }

    @Test func `The button answers an incoming call, and the far end ends it`()
        async throws
    {
        let terminal = try start()
        _ = try address(terminal)
        terminal.type("1")
        try terminal.wait(for: "on    [")
        terminal.type("i")
        try terminal.wait(for: "incoming call, ringing: Alice")
        // The headset learns of the call slightly later than the bus.
        try terminal.wait(for: "headset 1 rings")
        terminal.type("b")
        try terminal.wait(for: "the call is active")
        terminal.type("f")
        try terminal.wait(for: "the call is ended")
        terminal.type("q")
        #expect(try terminal.waitForEnd() == 0)
    }

    @Test func `Without a terminal keys are read as lines, and events are printed`() throws {
        let program = try #require(LabCommandTests.program).path()
        let line = "printf 'o...\\n1...b..\\nx' | '\(program)' sandbox"
        let run = try ChildProcess("/bin/sh", ["-c", line], capturing: .output).finish()
        #expect(run.status == 0)
        #expect(run.text.hasPrefix("--bus unix:path=/"))
        for part in [
            "the call is on: earpiece", "earpiece hears speech", "far end hears speech", "the call is on: headset 1",
            "headset 1 hears speech", "the button of headset 1: hang up", "the call is ended", "no such key: x",
        ] {
            #expect(run.text.contains(part), "\(part) in \(run.text)")
        }
        #expect(!run.text.contains("\u{1B}"))
    }

    @Test func `What each device played is written at the end`() throws {
        let program = try #require(LabCommandTests.program).path()
        let folder = FileManager.default.temporaryDirectory.appending(path: "sandbox-\(UUID().uuidString)").path()
        defer { try? FileManager.default.removeItem(atPath: folder) }  // A temporary directory may stay.
        let line = "printf 'o...1...q' | '\(program)' sandbox --record '\(folder)' --tone 600"
        let run = try ChildProcess("/bin/sh", ["-c", line], capturing: .output).finish()
        #expect(run.status == 0)
        #expect(run.text.contains("headset 1 hears speech"))
        for name in ["headset-1", "earpiece"] {
            #expect(run.text.contains("recorded: \(folder)/\(name).wav\n"))
            let recording = try WaveFile(path: "\(folder)/\(name).wav")
            #expect(recording.rate == 16000)
            #expect(recording.samples.contains { $0.magnitude > 1000 }, "\(name)")
        }
        #expect(!FileManager.default.fileExists(atPath: folder + "/headset-2.wav"))
    }

    @Test func `The far end hears the person while a talk key is pressed`() throws {
        let program = try #require(LabCommandTests.program).path()
        // Headset 2's key is its voice link, which moves the call from headset 1 and back.
        let keys = "o...1...t.t.2..y..y..u..u..w..w..q"
        let line = "printf '\(keys)' | '\(program)' sandbox --talk push"
        let run = try ChildProcess("/bin/sh", ["-c", line], capturing: .output).finish()
        #expect(run.status == 0)
        var rest = Substring(run.text)
        for part in [
            "the call is on: headset 1", "talk key of headset 1: pressed",
            "push to talk: talking, headset 00:00:5E:00:53:01", "talk key of headset 1: released",
            "push to talk: listening", "talk key of headset 2, its voice link: pressed",
            "push to talk: talking, headset 00:00:5E:00:53:02", "talk key of headset 2, its voice link: released",
            "push to talk: listening", "talk button with a serial port: pressed",
            "push to talk: talking, button 00:00:5E:00:53:03", "push to talk: listening",
            "talk button of Bluetooth Low Energy: pressed", "push to talk: talking, button 00:00:5E:00:53:04",
            "push to talk: listening",
        ] {
            let found = rest.range(of: part)
            #expect(found != nil, "\(part) in \(run.text)")
            if let found { rest = rest[found.upperBound...] }
        }
    }

    @Test(
        arguments: [
            ["--talk", "off"], ["--talk", "on"], ["--pcm", "pcm.sock"], ["--tone", "99"], ["--tone", "3401"],
        ])
    func `An option that cannot be met is refused`(options: [String]) {
        #expect(throws: (any Error).self) { try LabEntry.parseAsRoot(["sandbox"] + options) }
    }

    @Test(arguments: [SIGINT, SIGTERM, SIGHUP]) func `A signal restores the terminal`(_ signal: Int32)
        throws
    {
        let terminal = try start()
        _ = try address(terminal)
        #expect(!terminal.isCooked)
        terminal.signal(signal)
        #expect(try terminal.waitForEnd() == 0)
        #expect(terminal.isCooked)
        #expect(terminal.text.contains("\u{1B}[?25h"))
    }
}
