import BTCall
import BTCallAPI
import BTCallDaemon
import BTCallSimulator
import BluetoothTypes
import CallControl
import CallExchange
import Configuration
import ControlLoop
import DBus
import HeadsetControl
import TalkWords
import TestSupport
import Testing

extension DaemonTests {
    /// Push to talk: keys, modes, and what the far end hears. The microphone of the box is the earpiece's.
    @Suite @ControlPlane struct TalkTests {
        private static let pedal = "evdev:pedal:KEY_F13"

        /// Runs a box whose board has a talk key, with an active call.
        private func run(
            capabilities: Set<CallProviderDescription.Capability> = [],
            configure: (inout Configuration) -> Void = { $0.talk.mode = .push },
            body: (Box, SimulatedBoard, ProviderRegistration, Call.ID) async throws -> Void
        ) async throws {
            let board = SimulatedBoard()
            board.addHook()
            try await Box.run(
                board: board,
                configure: {
                    configure(&$0)
                    $0.talk.key = HookSpecification(Self.pedal)
                },
                body: { box in
                    try await box.prefer(.none)
                    let registration = try await box.register(capabilities)
                    let call = try await box.startCall(registration)
                    try await box.earpiecePlays(true)
                    try await body(box, board, registration, call)
                })
        }

        private func call(_ box: Box) async throws -> Call { try #require(try await box.bridge.calls.list().first) }

        private func state(
            _ box: Box, _ state: BTCall.TalkState, sourceLocation: SourceLocation = #_sourceLocation
        ) async throws {
            try await eventually("the call is \(state)", sourceLocation: sourceLocation) {
                try await box.bridge.calls.list().first?.talkState == state
            }
        }

        private func keys(_ box: Box) async throws -> [String] {
            try await box.bridge.calls.talkKeys().map { "\($0.kind) \($0.name) \($0.isPressed)" }
        }

        // MARK: Keys

        @Test func `the far end hears the person while the board's key is pressed, and the privacy light follows`()
            async throws
        {
            let light = try FakeLight()
            try await run(
                configure: {
                    $0.talk.mode = .push
                    $0.privacyOutput = light.specification
                },
                body: { box, board, _, _ in
                    #expect(try await keys(box) == ["board \(Self.pedal) false"])
                    #expect(try await call(box).talkMode == .push)
                    for _ in 0..<2 {
                        try await state(box, .listening)
                        try await box.farEndHears(false)
                        try await eventually("the light is off") { try light.read("brightness") == "0" }
                        board.lift()
                        try await state(box, .talking)
                        try await box.farEndHears(true)
                        try await eventually("the light is on") { try light.read("brightness") == "255" }
                        let present = try await call(box)
                        #expect(present.isTalking && present.talkHolder == "board \(Self.pedal)")
                        #expect(try await keys(box) == ["board \(Self.pedal) true"])
                        board.hangUp()
                    }
                    try await state(box, .listening)
                    try await box.farEndHears(false)
                    // The person hears the far end all the time.
                    try await box.earpiecePlays(true)
                })
        }

        @Test func `the microphone stays open for the tail after the release`() async throws {
            try await run(
                configure: {
                    $0.talk.mode = .push
                    $0.talk.tailMilliseconds = 2000
                },
                body: { box, board, _, _ in
                    board.lift()
                    try await box.farEndHears(true)
                    board.hangUp()
                    let released = try await call(box)
                    #expect(released.talkState == .tail && released.isTalking)
                    _ = box.telephone.exchange.takeRecorded()
                    try await box.farEndHears(true)
                    try await state(box, .listening)
                    try await box.farEndHears(false)
                    try await box.bridge.setSetting("talk.tailMilliseconds", to: "0")
                    board.lift()
                    try await state(box, .talking)
                    board.hangUp()
                    #expect(try await call(box).talkState == .listening)
                })
        }

        @Test func `a key of a headset talks by AT, and its microphone closes when the headset vanishes`() async throws
        {
            try await run { box, _, _, _ in
                let log = await EventLog(box.bridge)
                let headset = try await box.establishedHeadset()
                try await eventually("it is connected") { box.daemon.headsets.description(of: Box.first) != nil }
                @ControlPlane func talk() -> String? { box.daemon.headsets.description(of: Box.first)?.talk }
                #expect(talk() == nil)
                headset.say("AT+XEVENT=TALK,1", "AT+XEVENT=TALK,1")
                try await state(box, .talking)
                try await box.farEndHears(true)
                #expect(talk() == "pressed")
                headset.say("AT+XEVENT=TALK,0")
                try await state(box, .listening)
                #expect(talk() == "released")
                try await box.farEndHears(false)
                headset.say("AT+XEVENT=TALK,1")
                try await state(box, .talking)
                box.bluez.disconnect(Box.first)
                try await state(box, .listening)
                try await box.farEndHears(false)
                #expect(try await keys(box) == ["board \(Self.pedal) false"])
                let address = "\(Box.first)"
                let call = try await call(box).id
                try await eventually("it is told") {
                    log.all.contains(.callTalkChanged(call, .talking, holder: "headset \(address)"))
                        && log.all.contains(.headsetChanged(address: address, name: "talk", value: "pressed"))
                        && log.all.contains(.headsetEvent(address: address, event: "TALK", values: ["1"]))
                }
            }
        }

        @Test func `a program has a key of its own, which is released when it leaves the bus`() async throws {
            try await run { box, _, _, _ in
                let client = try await CallBridge(bus: .address("\(box.address)"))
                try await client.calls.setTalk(true)
                try await state(box, .talking)
                try await box.farEndHears(true)
                #expect(try await keys(box).count == 2)
                try await client.calls.setTalk(false)
                try await state(box, .listening)
                try await client.calls.setTalk(true)
                try await state(box, .talking)
                await client.close()
                try await state(box, .listening)
                try await box.farEndHears(false)
                #expect(try await keys(box) == ["board \(Self.pedal) false"])
            }
        }

        @Test func `a named key stays pressed without its program, and anybody releases it`() async throws {
            try await run { box, _, _, _ in
                let client = try await CallBridge(bus: .address("\(box.address)"))
                try await client.calls.setTalk(true, key: "door-1")
                await client.close()
                #expect(try await call(box).talkHolder == "application door-1")
                try await box.farEndHears(true)
                try await box.bridge.calls.setTalk(false, key: "door-1")
                try await state(box, .listening)
                #expect(try await keys(box) == ["board \(Self.pedal) false"])
                for name in ["", ":1.5", "two words", String(repeating: "a", count: 33)] {
                    let error = await refusal { () throws(BridgeError) in
                        try await box.bridge.calls.setTalk(true, key: name)
                    }
                    #expect(error?.code == .invalidArgument, "\(name)")
                }
                for number in 0..<32 { try await box.bridge.calls.setTalk(true, key: "k\(number)") }
                let full = await refusal { () throws(BridgeError) in
                    try await box.bridge.calls.setTalk(true, key: "k32")
                }
                #expect(full?.message.contains("programs have 32 talk keys already") == true)
            }
        }

        @Test func `a program that presses in a flood is refused, and its key counts as released`() async throws {
            try await run { box, _, _, _ in
                var error: BridgeError?
                for _ in 0..<100 where error == nil {
                    error = await refusal { () throws(BridgeError) in
                        try await box.bridge.calls.setTalk(true)
                        try await box.bridge.calls.setTalk(false)
                    }
                }
                #expect(error?.message.contains("was pressed too often") == true)
                try await state(box, .listening)
            }
        }

        @Test func `several keys have an order, and the last one that is held keeps the microphone open`() async throws
        {
            try await run { box, board, _, _ in
                try await box.bridge.calls.setTalk(true, key: "first")
                #expect(try await call(box).talkHolder == "application first")
                board.lift()
                try await eventually("the board is first") {
                    try await call(box).talkHolder == "board \(Self.pedal)"
                }
                board.hangUp()
                try await eventually("the program is next") {
                    try await call(box).talkHolder == "application first"
                }
                #expect(try await call(box).talkState == .talking)
                try await box.bridge.calls.setTalk(false, key: "first")
                try await state(box, .listening)
            }
        }

        @Test func `a key that is held too long counts as stuck, which is a problem until it is released`() async throws
        {
            try await run(
                body: { box, board, _, _ in
                    try await box.bridge.setSetting("talk.timeoutSeconds", to: "1")
                    board.lift()
                    try await state(box, .timedOut)
                    try await box.farEndHears(false)
                    let problem = try await box.problem("talk.stuck")
                    #expect(problem.what.contains("board \(Self.pedal)"))
                    board.hangUp()
                    try await box.noProblem("talk.stuck")
                    try await state(box, .listening)
                    try await box.bridge.setSetting("talk.timeoutSeconds", to: "60")
                    board.lift()
                    try await state(box, .talking)
                })
        }

        @Test func `a board without the key is a problem`() async throws {
            try await Box.run(
                board: SimulatedBoard(), configure: { $0.talk.key = HookSpecification(Self.pedal) },
                body: { box in
                    let problem = try await box.problem("talk.key")
                    #expect(problem.what.contains(Self.pedal) && problem.remedy == "there is gpio-keys")
                    #expect(try await keys(box).isEmpty)
                })
        }

        // MARK: Modes

        @Test func `mode toggle opens and closes by presses, mode latch by a short press`() async throws {
            for mode in ["toggle", "latch"] {
                try await run(
                    configure: { _ in },
                    body: { box, board, _, _ in
                        try await box.farEndHears(true)
                        try await box.bridge.setSetting("talk.mode", to: mode)
                        try await box.farEndHears(false)
                        for _ in 0..<2 {
                            board.lift()
                            board.hangUp()
                            try await state(box, .talking)
                            try await box.farEndHears(true)
                            board.lift()
                            board.hangUp()
                            try await state(box, .listening)
                            try await box.farEndHears(false)
                        }
                        try await box.bridge.setSetting("talk.mode", to: "off")
                        try await box.farEndHears(true)
                    })
            }
        }

        @Test func `a call without a talk mode is untouched by keys`() async throws {
            try await run(
                capabilities: [.talk], configure: { _ in },
                body: { box, board, _, call in
                    try await box.farEndHears(true)
                    let before = try await self.call(box)
                    #expect(before.talkMode == .off && before.talkState == .off && !before.isTalking)
                    let log = await EventLog(box.bridge)
                    board.lift()
                    try await eventually("the key is pressed") { try await keys(box) == ["board \(Self.pedal) true"] }
                    try await box.farEndHears(true)
                    board.hangUp()
                    try await eventually("the key is released") { try await keys(box) == ["board \(Self.pedal) false"] }
                    try await box.farEndHears(true)
                    #expect(try await self.call(box) == before)
                    let error = await refusal { () throws(BridgeError) in try await box.bridge.calls.setTalk(true) }
                    #expect(error?.code == .wrongState)
                    #expect(error?.message.contains("no active call has a talk mode") == true)
                    try await box.bridge.calls.setTalk(false)
                    #expect(!box.telephone.requests.contains(.talk(call, true)))
                    #expect(
                        !log.all.contains { event in
                            if case .callTalkChanged = event { true } else { false }
                        })
                })
        }

        @Test func `the call's mode counts before its application's, and that before the configuration's`() async throws
        {
            try await run(
                configure: { $0.talk.mode = .toggle },
                body: { box, _, registration, call in
                    #expect(try await self.call(box).talkMode == .toggle)
                    try await registration.update(call, talk: .off)
                    #expect(try await self.call(box).talkMode == .off)
                    try await box.farEndHears(true)
                    try await registration.update(call, .ended)
                    let radio = try await box.register(talk: .push)
                    let own = try await radio.reportOutgoing(number: "1", state: .active)
                    #expect(try await self.call(box).talkMode == .push)
                    try await radio.update(own, .ended)
                    let incoming = try await radio.reportIncoming(number: "1", talk: .latch)
                    #expect(try await self.call(box).talkMode == .latch)
                    try await radio.update(incoming, .ended)
                    let error = await refusal { () throws(BridgeError) in
                        _ = try await radio.reportOutgoing(number: "1", state: .active, talk: .off)
                    }
                    #expect(error == nil)
                    try await box.farEndHears(true)
                })
        }

        @Test func `an unknown mode is refused with the accepted ones`() async throws {
            try await run { box, _, _, _ in
                let path = try #require(box.daemon.calls.calls.first?.path)
                do throws(BusError) {
                    _ = try await box.client.call(
                        BTCallName.bus, path, BTCallName.Interface.call, BTCallName.Call.update,
                        [.string(""), .vardict(["talk": "press"])])
                    Issue.record("it was accepted")
                } catch {
                    #expect(error.message.contains("\"press\"; accepted: off, push, toggle, latch"))
                }
                let setting = await refusal { () throws(BridgeError) in
                    try await box.bridge.setSetting("talk.mode", to: "press")
                }
                #expect(setting?.message.contains("off, push, toggle, latch") == true)
            }
        }

        @Test func `mute and talk are two gates: both have to be open`() async throws {
            try await run { box, board, _, _ in
                try await box.bridge.calls.setMuted(true)
                board.lift()
                try await state(box, .talking)
                try await box.farEndHears(false)
                try await box.bridge.calls.setMuted(false)
                try await box.farEndHears(true)
                board.hangUp()
                try await state(box, .listening)
                try await box.bridge.calls.setMuted(true)
                try await box.bridge.calls.setMuted(false)
                try await box.farEndHears(false)
            }
        }

        @Test func `a call that is held closes the microphone, and a key from before has to be pressed again`()
            async throws
        {
            try await run(capabilities: [.hold]) { box, board, _, call in
                board.lift()
                try await state(box, .talking)
                #expect(await box.bridge.calls.hold(call) == .done)
                try await state(box, .off)
                #expect(await box.bridge.calls.resume(call) == .done)
                try await state(box, .listening)
                try await box.farEndHears(false)
                board.hangUp()
                board.lift()
                try await state(box, .talking)
                try await box.farEndHears(true)
            }
        }
    }
}
