import AudioEngine
import AudioPaths
import BTCallDaemon
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

@Suite struct BoardSpecificationTests {
    @Test func `a jack is one or several control elements or input devices`() throws {
        #expect(JackSpecification("none") == .cardAlone)
        #expect(
            JackSpecification("Headphone Jack, Headset Mic Jack")
                == .parts([
                    .control(card: nil, name: "Headphone Jack", isMicrophone: false),
                    .control(card: nil, name: "Headset Mic Jack", isMicrophone: true),
                ]))
        #expect(
            JackSpecification("hw:PCH/Front,hw:1/Back")
                == .parts([
                    .control(card: "hw:PCH", name: "Front", isMicrophone: false),
                    .control(card: "hw:1", name: "Back", isMicrophone: true),
                ]))
        #expect(
            JackSpecification("evdev:gpio-keys, evdev:/dev/input/by-path/x-event")
                == .parts([.input("gpio-keys"), .input("/dev/input/by-path/x-event")]))
    }

    @Test(arguments: [
        "none", "Headphone Jack, Headset Mic Jack", "hw:PCH/Front, hw:1/Back", "evdev:gpio-keys, Mic Jack",
    ])
    func `a jack is written as it is read`(text: String) {
        #expect(JackSpecification(text)?.description == text)
    }

    @Test(arguments: ["", "Headphone Jack,", "evdev:", "hw:/Jack", "hw:0/", " , "])
    func `anything else is no jack`(text: String) {
        #expect(JackSpecification(text) == nil)
    }

    @Test func `a hook is a key, a switch or a line, perhaps inverted`() throws {
        func input(_ device: String, _ code: InputCode) -> HookSpecification.Source { .input(device: device, code) }
        #expect(HookSpecification("evdev:cradle")?.source == input("cradle", .phone))
        #expect(
            HookSpecification("evdev:USB Phone: Hook:SW_DOCK")?.source
                == input("USB Phone: Hook", InputCode(.switch, 5)))
        #expect(
            HookSpecification("evdev:/dev/input/event3:key:443")?.source
                == input("/dev/input/event3", InputCode(.key, 443)))
        let line = try #require(HookSpecification("!gpio:gpiochip0:17:pullUp"))
        #expect(line.source == .line(chip: "gpiochip0", line: 17, bias: .pullUp))
        #expect(line.isInverted)
        for text in [
            "evdev:cradle:KEY_PHONE", "!evdev:a:b:switch:200", "gpio:pinctrl-bcm2711:4", "!gpio:/dev/gpiochip1:0:none",
        ] {
            #expect(HookSpecification(text)?.description == text)
        }
    }

    @Test(arguments: [
        "", "!", "cradle", "evdev:", "evdev:cradle:KEY_FONE", "evdev:cradle:", "gpio:gpiochip0", "gpio::3",
        "gpio:chip:-1",
        "gpio:chip:1:2", "gpio:chip:one", "gpio:chip:1:unchanged",
    ])
    func `anything else is no hook`(text: String) {
        #expect(HookSpecification(text) == nil)
    }
}

@Suite struct ForeignChangeGuardTests {
    private func at(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }

    @Test func `two changes are undone, the third within ten seconds is left, and so are all after it`() {
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

    @Test func `changes that are further apart are undone for ever`() {
        var contest = ForeignChangeGuard()
        for second in 0..<100 { #expect(contest.changed(at: at(Int64(second) * 5_000)) == .reassert) }
        #expect(!contest.hasYielded)
    }

    @Test func `a change exactly ten seconds ago does not count any more`() {
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
    func `what several sources say is one state`(readings: [JackReading], hasCapture: Bool, expected: JackState) {
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

    @Test func `a jack of an input device tells plug and microphone, and its end`() async throws {
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

    @Test func `a hook tells lifting, inverted too, and says what there is in its place`() async throws {
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

    @Test func `controls of a card that is not there are missing with their card`() throws {
        let board = makeBoard()
        let jack = #expect(throws: BoardError.self) {
            try board.openJack(SimulatedBoard.headphone, pcm: "hw:NoSuchCard,0")
        }
        #expect(jack?.isCardMissing == true)
        let mixer = #expect(throws: BoardError.self) { try board.openMixer("Speaker", pcm: "hw:NoSuchCard,0") }
        #expect(mixer?.isCardMissing == true)
        #expect(board.findJack(ofPCM: "hw:NoSuchCard,0").isEmpty)
    }

    @Test func `cards, input devices and chips that come are told, each in its area`() async throws {
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
            try await eventually("\(path) is told") { told.contains(area) }
            #expect(told.allSatisfy { $0 == area })
        }
        try await expect(.cards, "snd/controlC0")
        try await expect(.cards, "snd/pcmC1D0p")
        try await expect(.inputs, "input/event7")
        try await expect(.lines, "gpiochip0")
        board.stop()
    }
}

@Suite @ControlPlane struct ALSAPathOpenerTests {
    @Test func `headphones without microphone are used with the board's`() throws {
        var configuration = Configuration()
        configuration.localDevices = [
            .wiredHeadset: .init(playback: "null", capture: "null"),
            .speakerphone: .init(playback: "null", capture: "plug:null"),
        ]
        let paths = ALSAPathOpener(configuration: configuration)
        func capture() throws -> Bool {
            let path = try paths.openPath(.wiredHeadset)
            defer { path.close() }
            return path.summary.contains("plug:null")
        }
        #expect(try !capture())
        #expect(!paths.setWiredMicrophone(true))
        #expect(paths.setWiredMicrophone(false))
        #expect(try capture())
        #expect(!paths.setWiredMicrophone(false))
        #expect(paths.setWiredMicrophone(true))
        #expect(try !capture())
        // A card that does not record is used with the board's whatever the socket says.
        configuration.localDevices[.wiredHeadset] = .init(playback: "null", capture: nil)
        let path = try ALSAPathOpener(configuration: configuration).openPath(.wiredHeadset)
        #expect(path.summary.contains("plug:null"))
        path.close()
        configuration.localDevices[.wiredHeadset] = .init(playback: "null", capture: "null")
        // Without another microphone there is nothing to change.
        configuration.localDevices[.speakerphone] = nil
        #expect(!ALSAPathOpener(configuration: configuration).setWiredMicrophone(false))
    }

    @Test func `headphones are there when the microphone is that they are used with`() {
        var configuration = Configuration()
        configuration.localDevices = [
            .wiredHeadset: .init(playback: "null", capture: nil),
            .speakerphone: .init(playback: "null", capture: "hw:Nowhere"),
        ]
        let error = ALSAPathOpener(configuration: configuration).absence(of: .wiredHeadset)
        #expect(error?.what.contains("hw:Nowhere") == true)
        configuration.localDevices[.speakerphone] = .init(playback: "null", capture: "null")
        #expect(ALSAPathOpener(configuration: configuration).absence(of: .wiredHeadset) == nil)
    }

    @Test func `a ring device of its own that cannot be opened is corrected in its own key`() throws {
        let paths = ALSAPathOpener(configuration: Configuration())
        // The one is not there, the other is no name of a device.
        for name in ["hw:Nowhere", "hw:NOTHING=1"] {
            let error = #expect(throws: PathError.self) { try paths.openOutput(.pcm(name)) }
            #expect(error?.remedy.contains("[ring] playback") == true, "\(name): \(error?.description ?? "")")
            #expect(error?.remedy.contains("speakerphone") == false && error?.remedy.contains("aplay -L") == true)
        }
    }

    @Test(arguments: [("null", nil), (nil, "null"), ("null", "null")] as [(String?, String?)])
    func `a device with one direction can carry a call`(playback: String?, capture: String?) throws {
        var configuration = Configuration()
        configuration.localDevices = [.earpiece: .init(playback: playback, capture: capture)]
        let path = try ALSAPathOpener(configuration: configuration).openPath(.earpiece)
        defer { path.close() }
        let engine = try AudioEngine()
        try engine.addTerminal(1, path.terminal)
        engine.stop()
    }
}
