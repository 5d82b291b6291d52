import BTCall
import BTCallAPI
import BTCallBench
import BTCallDaemon
import BTCallSimulator
import BluetoothTypes
import CallControl
import Configuration
import ControlLoop
import DBus
import Foundation
import HeadsetControl
import Talk
import TalkWords
import TestSupport
import Testing

extension DaemonTests {
    /// Talk keys of wireless devices without AT: serial ports, Bluetooth Low Energy, and the voice link.
    @Suite @ControlPlane struct TalkDeviceTests {
        private static let button = BluetoothAddress(value: 0x0000_5E00_5321)

        private static func rows(_ lines: [String]) throws -> TalkRows {
            let text = "[database]\nformat = 1\n[key test]\nreference = a test\n" + lines.joined(separator: "\n") + "\n"
            return try TalkRows(parsing: Array(text.utf8), file: "test", origin: .admin)
        }

        private static let serial = [
            "address = \(button)", "protocol = serial", "press = +PTT=P", "release = +PTT=R",
        ]
        private static let lowEnergy = [
            "address = \(button)", "protocol = notification", "service = FFE0", "characteristic = FFE1",
            "press = 0x01", "release = 0x00",
        ]

        /// Runs a box with push to talk and an active call on the earpiece.
        private func run(
            rows: [String], configure: (inout Configuration) -> Void = { _ in },
            prepare: (Box) async throws -> Void = { _ in },
            body: (Box, ProviderRegistration) async throws -> Void
        ) async throws {
            let rows = try Self.rows(rows)
            try await Box.run(
                configure: {
                    $0.talk.mode = .push
                    $0.talkRows = rows
                    $0.timeouts.talkDevice = .milliseconds(50)
                    configure(&$0)
                }, prepare: prepare,
                body: { box in
                    try await box.prefer(.none)
                    let registration = try await box.register()
                    _ = try await box.startCall(registration)
                    try await box.earpiecePlays(true)
                    try await body(box, registration)
                })
        }

        private func state(
            _ box: Box, _ state: BTCall.TalkState, sourceLocation: SourceLocation = #_sourceLocation
        ) async throws {
            try await eventually("the call is \(state)", sourceLocation: sourceLocation) {
                try await box.bridge.calls.list().first?.talkState == state
            }
        }

        private static func attach(_ button: VirtualButton, _ descriptor: Int32) {
            do throws(SystemError) {
                try button.attach(descriptor)
            } catch {
                Issue.record(error)
            }
        }

        private func keys(_ box: Box) async throws -> [String] {
            try await box.bridge.calls.talkKeys().map { "\($0.kind) \($0.name) \($0.isPressed)" }
        }

        private func has(_ box: Box, _ keys: [String], sourceLocation: SourceLocation = #_sourceLocation) async throws {
            try await eventually("the keys are \(keys)", sourceLocation: sourceLocation) {
                try await self.keys(box) == keys
            }
        }

        // MARK: Serial port

        @Test func `a button with a serial port is connected, talks, and is connected again after a loss`() async throws
        {
            let button = VirtualButton()
            try await run(
                rows: Self.serial,
                prepare: { box in
                    box.bluez.addSerialDevice(Self.button, name: "Button")
                    box.bluez.onSerialConnected = { _, descriptor in Self.attach(button, descriptor) }
                },
                body: { box, _ in
                    try await has(box, ["button \(Self.button) false"])
                    for _ in 0..<2 {
                        button.press()
                        try await state(box, .talking)
                        try await box.farEndHears(true)
                        button.press()
                        try await has(box, ["button \(Self.button) true"])
                        button.release()
                        try await state(box, .listening)
                        try await box.farEndHears(false)
                    }
                    button.press()
                    try await state(box, .talking)
                    box.bluez.disconnect(Self.button)
                    try await state(box, .listening)
                    try await has(box, ["button \(Self.button) false"])
                    button.press()
                    try await state(box, .talking)
                })
        }

        @Test func `without a row for a device no serial port is registered`() async throws {
            try await run(
                rows: ["address = 00:00:5E:00:53:99"] + Self.serial.dropFirst(),
                prepare: { $0.bluez.addSerialDevice(Self.button, name: "Button") },
                body: { box, _ in
                    let services = box.bluez.profiles.map(\.uuid)
                    #expect(!services.contains(.serialPort))
                    let present = try await keys(box)
                    #expect(present == [])
                })
        }

        @Test func `a device that floods its serial port is ignored, a problem until it has gone`() async throws {
            let button = VirtualButton()
            try await run(
                rows: Self.serial,
                prepare: { box in
                    box.bluez.addSerialDevice(Self.button, name: "Button")
                    box.bluez.onSerialConnected = { _, descriptor in Self.attach(button, descriptor) }
                },
                body: { box, _ in
                    try await has(box, ["button \(Self.button) false"])
                    for _ in 0..<300 { button.press() }
                    let problem = try await box.problem("talk.flood")
                    #expect(problem.what.contains("button \(Self.button)"))
                    try await state(box, .listening)
                    try await box.farEndHears(false)
                    box.bluez.disconnect(Self.button)
                    try await box.noProblem("talk.flood")
                    try await has(box, ["button \(Self.button) false"])
                    button.press()
                    try await state(box, .talking)
                })
        }

        // MARK: Bluetooth Low Energy

        @Test func `a button of Bluetooth Low Energy notifies, and is connected again after a loss`() async throws {
            try await run(
                rows: Self.lowEnergy,
                prepare: { $0.bluez.addLowEnergyDevice(Self.button, name: "PTT") },
                body: { box, _ in
                    try await has(box, ["button \(Self.button) false"])
                    box.bluez.notify([1], from: Self.button)
                    try await state(box, .talking)
                    try await box.farEndHears(true)
                    box.bluez.notify([0], from: Self.button)
                    try await state(box, .listening)
                    box.bluez.notify([1], from: Self.button)
                    try await state(box, .talking)
                    box.bluez.disconnect(Self.button)
                    try await state(box, .listening)
                    try await box.farEndHears(false)
                    try await has(box, ["button \(Self.button) false"])
                    box.bluez.notify([1], from: Self.button)
                    try await state(box, .talking)
                    try await box.bluez.restart()
                    try await state(box, .listening)
                    try await has(box, ["button \(Self.button) false"])
                    box.bluez.notify([1], from: Self.button)
                    try await state(box, .talking)
                })
        }

        @Test func `a button without the characteristic of its row is said, and never talks`() async throws {
            try await run(
                rows: Self.lowEnergy,
                prepare: { box in
                    box.bluez.addLowEnergyDevice(
                        Self.button, name: "PTT",
                        characteristics: [.init(ServiceUUID(short: 0xFFE0), ServiceUUID(short: 0xFFE2))])
                },
                body: { box, _ in
                    try await eventually("it is logged") {
                        !box.log.containing("info", "it has no characteristic FFE1 that notifies").isEmpty
                    }
                    let present = try await keys(box)
                    #expect(present == [])
                })
        }

        @Test func `a button that is not trusted is not connected`() async throws {
            try await run(
                rows: Self.lowEnergy,
                prepare: {
                    $0.bluez.addLowEnergyDevice(Self.button, name: "PTT", properties: ["Trusted": .bool(false)])
                },
                body: { box, _ in
                    let present = try await keys(box)
                    #expect(present == [])
                    box.bluez.connectLowEnergy(Self.button)
                    try await has(box, ["button \(Self.button) false"])
                })
        }

        // MARK: Lessons

        @Test func `three presses teach the key of an unknown button, which talks from then on, over restarts`()
            async throws
        {
            let folder = FileManager.default.temporaryDirectory.appending(path: "btcall-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: folder) }
            try await run(
                rows: ["address = 00:00:5E:00:53:99"] + Self.serial.dropFirst(),
                configure: { $0.stateDirectory = folder.path() },
                prepare: { $0.bluez.addLowEnergyDevice(Self.button, name: "PTT") },
                body: { box, _ in
                    let address = "\(Self.button)"
                    let presses = EventQueue<Int>()
                    async let lesson = box.bridge.calls.learnTalkKey(of: address) { count in
                        Task { @ControlPlane in presses.push(count) }
                    }
                    try await eventually("it listens") { box.bluez.isNotifying(Self.button) }
                    let busy = await refusal { () throws(BridgeError) in
                        _ = try await box.bridge.calls.learnTalkKey(of: address)
                    }
                    #expect(busy?.code == .wrongState)
                    for count in 1...3 {
                        box.bluez.notify([7], from: Self.button)
                        box.bluez.notify([9], from: Self.button)
                        #expect(try await presses.next() == count)
                    }
                    let row = try await lesson
                    #expect(row.contains("press = 0x07") && row.contains("release = 0x09"))
                    for isAgain in [false, true] {
                        if isAgain { try await box.restartDaemon() }
                        try await has(box, ["button \(Self.button) false"])
                        box.bluez.notify([7], from: Self.button)
                        try await has(box, ["button \(Self.button) true"])
                        box.bluez.notify([9], from: Self.button)
                        try await has(box, ["button \(Self.button) false"])
                    }
                    try await box.bridge.calls.forgetTalkKey(of: address)
                    try await has(box, [])
                    let gone = await refusal { () throws(BridgeError) in
                        try await box.bridge.calls.forgetTalkKey(of: address)
                    }
                    #expect(gone?.code == .unavailable)
                })
        }

        @Test func `a device that is not paired is not listened to`() async throws {
            try await run(
                rows: Self.serial,
                body: { box, _ in
                    let error = await refusal { () throws(BridgeError) in
                        _ = try await box.bridge.calls.learnTalkKey(of: "00:00:5E:00:53:98")
                    }
                    #expect(error?.code == .unavailable)
                    #expect(error?.message.contains("pair it first") == true)
                    let word = await refusal { () throws(BridgeError) in
                        _ = try await box.bridge.calls.learnTalkKey(of: "button")
                    }
                    #expect(word?.code == .invalidArgument)
                })
        }

        // MARK: The voice link

        @Test func `a headset that opens its link to talk moves no call, and has no link in between`() async throws {
            try await run(
                rows: ["address = \(Box.first)", "protocol = link"],
                body: { box, _ in
                    _ = try await box.connect(Box.first, codecs: [.mSBC, .cvsd])
                    try await box.prefer(.bluetooth)
                    try await eventually("it rests") {
                        try await box.device("bluetooth:\(Box.first)")?["state"] == "waiting"
                    }
                    #expect(try await box.bridge.audioDeviceManager.activeRoute() == .earpiece)
                    for _ in 0..<2 {
                        box.simulation.openLink(Box.first)
                        try await state(box, .talking)
                        try await box.route(Choice("bluetooth:\(Box.first)") ?? .none)
                        try await box.farEndHears(true)
                        box.simulation.closeLink(Box.first)
                        try await state(box, .listening)
                        try await box.route(.earpiece)
                        try await box.farEndHears(false)
                    }
                    try await box.bridge.setSetting("talk.mode", to: "off")
                    try await box.route(Choice("bluetooth:\(Box.first)") ?? .none)
                })
        }

        @Test func `with link = press the press opens a headset's link, and the delay is measured`() async throws {
            try await run(
                rows: Self.serial,
                configure: {
                    $0.talk.link = .press
                    $0.timeouts.talkLink = .milliseconds(20)
                },
                body: { box, _ in
                    _ = try await box.connect(Box.first, codecs: [.mSBC, .cvsd])
                    try await box.prefer(.bluetooth)
                    try await eventually("it rests") {
                        try await box.device("bluetooth:\(Box.first)")?["state"] == "waiting"
                    }
                    for _ in 0..<2 {
                        try await box.bridge.calls.setTalk(true)
                        try await box.route(Choice("bluetooth:\(Box.first)") ?? .none)
                        try await box.farEndHears(true)
                        try await box.bridge.calls.setTalk(false)
                        try await box.route(.earpiece)
                    }
                    #expect(box.daemon.headsets.talk.delays[Box.first].map { $0 > .zero } == true)
                    #expect(box.daemon.headsets.description(of: Box.first)?.talkDelay != nil)
                    try await box.bridge.setSetting("talk.link", to: "keep")
                    try await box.route(Choice("bluetooth:\(Box.first)") ?? .none)
                })
        }
    }
}
