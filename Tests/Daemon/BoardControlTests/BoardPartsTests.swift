import BluetoothTypes
import BoardControl
import BoardInput
import Configuration
import ControlLoop
import Foundation
import Logging
import Routing
import TestSupport
import Testing

@Suite struct ForeignChangeGuardTests {
    private func at(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }

    @Test func `two foreign changes are undone, the third within ten seconds and all later ones are left`() {
        var contest = ForeignChangeGuard()
        #expect(
            [0, 4_000, 9_999, 10_000, 60_000].map { contest.changed(at: at($0)) } == [
                .reassert, .reassert, .yield, .ignore, .ignore,
            ])
        #expect(contest.hasYielded)
        contest.reset()
        #expect(!contest.hasYielded)
        #expect(contest.changed(at: at(60_001)) == .reassert)
    }

    @Test func `foreign changes further apart are always undone`() {
        var contest = ForeignChangeGuard()
        for second in 0..<100 { #expect(contest.changed(at: at(Int64(second) * 5_000)) == .reassert) }
        #expect(!contest.hasYielded)
    }

    @Test func `a change exactly ten seconds ago no longer counts`() {
        var contest = ForeignChangeGuard()
        #expect(contest.changed(at: at(0)) == .reassert)
        #expect(contest.changed(at: at(1)) == .reassert)
        #expect(contest.changed(at: at(10_000)) == .reassert)
        #expect(contest.changed(at: at(10_000)) == .yield)
    }
}

@Suite struct JackStateTests {
    @Test(arguments: [
        ([JackReading](), true, JackState.empty),
        ([JackReading(isPlugged: false)], true, .empty),
        ([JackReading(isPlugged: true)], true, .headset),
        ([JackReading(isPlugged: true)], false, .headphones),
        ([JackReading(isPlugged: true), JackReading(hasMicrophone: false)], true, .headphones),
        ([JackReading(isPlugged: true), JackReading(hasMicrophone: true)], false, .headset),
        // A microphone alone, in a socket of its own, is no headset.
        ([JackReading(isPlugged: false), JackReading(hasMicrophone: true)], true, .empty),
        ([JackReading(hasMicrophone: true)], false, .headset),
        ([JackReading(isPlugged: false), JackReading(isPlugged: true)], true, .headset),
    ])
    func `readings of several sources make one state`(readings: [JackReading], hasCapture: Bool, expected: JackState) {
        #expect(JackMonitor.state(of: readings, hasCapture: hasCapture) == expected)
    }
}

/// The kernel's side in a directory: class files for sysfs, named pipes for device nodes.
@Suite @ControlPlane struct LinuxBoardTests {
    private let root = FileManager.default.temporaryDirectory.appendingPathComponent("btcall-board-\(UUID())")
    private static let eventBytes = InputEventReader.eventBytes

    private func makeBoard() -> LinuxBoard {
        LinuxBoard(
            devices: root.path,
            catalogue: InputCatalogue(
                nodes: root.appendingPathComponent("input").path, classes: root.appendingPathComponent("class").path),
            settling: .milliseconds(10), logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    /// - Parameters: bitmaps as in sysfs.
    private func add(_ event: String, _ name: String, key: String = "0", sw: String = "0") throws {
        let files = FileManager.default
        let capabilities = root.appendingPathComponent("class/\(event)/device/capabilities")
        try files.createDirectory(at: capabilities, withIntermediateDirectories: true)
        try files.createDirectory(at: root.appendingPathComponent("input"), withIntermediateDirectories: true)
        try Data("\(name)\n".utf8).write(to: capabilities.deletingLastPathComponent().appendingPathComponent("name"))
        try Data("\(key)\n".utf8).write(to: capabilities.appendingPathComponent("key"))
        try Data("\(sw)\n".utf8).write(to: capabilities.appendingPathComponent("sw"))
        try #require(mkfifo(root.appendingPathComponent("input/\(event)").path, 0o600) == 0)
    }

    private func writer(_ event: String) throws -> FileHandle {
        try FileHandle(forWritingTo: root.appendingPathComponent("input/\(event)"))
    }

    private func event(_ type: UInt16, _ code: UInt16, _ value: Int32) -> Data {
        var bytes = Data(repeating: 0, count: Self.eventBytes - 8)
        withUnsafeBytes(of: type) { bytes += $0 }
        withUnsafeBytes(of: code) { bytes += $0 }
        withUnsafeBytes(of: value) { bytes += $0 }
        return bytes
    }

    @Test func `a jack of an input device reports plug, microphone and its removal`() async throws {
        defer { try? FileManager.default.removeItem(at: root) }
        try add("event4", "headset-jack", sw: "14")
        let board = makeBoard()
        #expect(board.findJack(ofPCM: "null") == [.input(root.appendingPathComponent("input/event4").path)])
        let jack = try board.openJack(.input("headset-jack"), pcm: "null")
        #expect(jack.state == JackReading(isPlugged: false, hasMicrophone: false))
        var isGone = false
        jack.onGone = { isGone = true }
        let far = try writer("event4")
        try far.write(contentsOf: event(5, 2, 1) + event(5, 4, 1) + event(0, 0, 0))
        try await eventually("it is plugged") { jack.state == JackReading(isPlugged: true, hasMicrophone: true) }
        try far.write(contentsOf: event(5, 4, 0) + event(0, 0, 0))
        try await eventually("the microphone is off") {
            jack.state == JackReading(isPlugged: true, hasMicrophone: false)
        }
        try far.close()
        try await eventually("it has gone") { isGone }
    }

    @Test func `a hook reports lifting, also inverted, and a missing one names the alternatives`() async throws {
        defer { try? FileManager.default.removeItem(at: root) }
        try add("event0", "keyboard", key: "fffffffffffffffe")
        try add("event1", "cradle", key: "20000000000 0 0")
        let board = makeBoard()
        let hook = try board.openHook(try #require(HookSpecification("!evdev:cradle")))
        #expect(hook.state)
        let far = try writer("event1")
        try far.write(contentsOf: event(1, 169, 1) + event(0, 0, 0))
        try await eventually("it is on the hook") { !hook.state }
        hook.close()
        let absent = #expect(throws: BoardError.self) { try board.openHook(#require(HookSpecification("evdev:phone"))) }
        #expect(absent?.what == "there is no input device phone")
        #expect(absent?.remedy == "there is keyboard, cradle")
        let wrong = #expect(throws: BoardError.self) {
            try board.openHook(#require(HookSpecification("evdev:cradle:SW_DOCK")))
        }
        #expect(wrong?.what == "cradle has no SW_DOCK")
        #expect(wrong?.remedy == "it has KEY_PHONE")
        let jack = #expect(throws: BoardError.self) { try board.openJack(.input("cradle"), pcm: "null") }
        #expect(jack?.remedy == "it has KEY_PHONE")
        let line = #expect(throws: BoardError.self) {
            try board.openHook(#require(HookSpecification("gpio:gpiochip3:1")))
        }
        #expect(line?.what == "there is no GPIO chip gpiochip3")
        try far.close()
    }

    @Test func `controls of a missing card are reported as missing with the card`() throws {
        let board = makeBoard()
        let jack = #expect(throws: BoardError.self) {
            try board.openJack(.control(card: nil, name: "Headphone Jack", isMicrophone: false), pcm: "hw:NoSuchCard,0")
        }
        #expect(jack?.isCardMissing == true)
        let mixer = #expect(throws: BoardError.self) { try board.openMixer("Speaker", pcm: "hw:NoSuchCard,0") }
        #expect(mixer?.isCardMissing == true)
        #expect(board.findJack(ofPCM: "hw:NoSuchCard,0").isEmpty)
    }

    @Test func `new cards, input devices and chips are reported, each in its area`() async throws {
        try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: root) }
        let board = makeBoard()
        var told: [BoardArea] = []
        board.onChange = { told.append($0) }
        for area in BoardArea.allCases { #expect(board.watch(area)) }
        func expect(_ area: BoardArea, _ path: String) async throws {
            told = []
            let file = root.appendingPathComponent(path)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data().write(to: file)
            try await eventually("\(path) is reported") { told.contains(area) }
            #expect(told.allSatisfy { $0 == area })
        }
        try await expect(.cards, "snd/controlC0")
        try await expect(.cards, "snd/pcmC1D0p")
        try await expect(.inputs, "input/event7")
        try await expect(.lines, "gpiochip0")
        board.stop()
    }
}
