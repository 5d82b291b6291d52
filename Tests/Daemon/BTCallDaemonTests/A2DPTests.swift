import BTCall
import BTCallAPI
import BTCallDaemon
import BTCallSimulator
import BlueZ
import BluetoothTypes
import CallControl
import Configuration
import ControlLoop
import DBus
import HeadsetControl
import HeadsetPolicy
import Routing
import TestSupport
import Testing

extension DaemonTests {
    /// Playback to headsets over A2DP.
    @Suite @ControlPlane struct A2DPTests {
        /// The first headset.
        private static var route: Choice {
            get throws { try #require(Choice.bluetooth(address: "\(Box.first)")) }
        }

        /// The audio that a headset gets over A2DP from now on.
        @ControlPlane
        private final class Listener {
            let sink = SBCSink()
            private let box: Box
            private let address: BluetoothAddress
            private var checked = 0

            init(_ box: Box, _ address: BluetoothAddress = Box.first) {
                self.box = box
                self.address = address
            }

            /// Whether speech, or only silence, arrived since the last call.
            func hears(_ isHeard: Bool = true) -> Bool {
                for packet in box.bluez.receiveMedia(of: address) { sink.receive(packet) }
                let recent = sink.left.dropFirst(checked)
                guard recent.count > 4_800 else { return false }
                checked = sink.left.count
                return Tone.isHeard(in: recent) == isHeard
            }
        }

        private func device(_ box: Box, _ address: BluetoothAddress = Box.first) async throws -> BTCall.AudioDevice {
            let devices = try await box.bridge.audioDeviceManager.audioDevices()
            return try #require(devices.first { $0.address == "\(address)" })
        }

        private func state(_ box: Box, is expected: BTCall.AudioDevice.MediaState?) async throws {
            try await eventually("A2DP is \(expected?.rawValue ?? "down")") {
                try await self.device(box).mediaState == expected
            }
        }

        /// Waits until bluetoothd has every registration.
        private func prepare(_ box: Box) async throws {
            try await eventually("bluetoothd has the endpoint") { !box.bluez.media.endpoints.isEmpty }
        }

        private func startCall(_ box: Box) async throws -> Call.ID {
            let registration = try await box.register()
            box.registrations.append(registration)
            return try await box.startCall(registration)
        }

        @Test func `S3.8 a call without microphone plays over A2DP, and returns to HFP with the microphone`()
            async throws
        {
            try await Box.run { box in
                try await prepare(box)
                _ = try await box.connect(Box.first)
                try await box.bluez.configureMedia(of: Box.first)
                try await state(box, is: .idle)
                try await box.prefer(.bluetooth)
                let call = try await startCall(box)
                try await box.route(Self.route)
                #expect(try await device(box).mode == "hfp")
                try await box.bridge.audio.setMicrophone(enabled: false)
                try await eventually("A2DP plays") { box.bluez.mediaState(of: Box.first) == "active" }
                let listener = Listener(box)
                try await eventually("the call is heard over A2DP") { listener.hears() }
                var described = try await device(box)
                #expect(described.mode == "a2dp" && described.output == "a2dp:\(Box.first)" && described.input == nil)
                #expect(described.state == "active" && described.mediaState == .playing && described.rates == [48_000])
                #expect(listener.sink.lostPackets == 0 && listener.sink.faults.isEmpty)
                try await box.bridge.audio.setMicrophone(enabled: true)
                try await eventually("A2DP has ended") { box.bluez.mediaState(of: Box.first) == "idle" }
                try await box.playing("headset 1")
                described = try await device(box)
                #expect(described.mode == "hfp" && described.input == "sco:\(Box.first)")
                try await box.bridge.calls.hangup(call)
            }
        }

        @Test func `S3.9 with a microphone a headset with both profiles is used over HFP`() async throws {
            try await Box.run { box in
                try await prepare(box)
                try await box.bluez.configureMedia(of: Box.first)
                _ = try await box.connect(Box.first)
                try await box.prefer(.bluetooth)
                _ = try await startCall(box)
                try await box.route(Self.route)
                try await box.playing("headset 1")
                let described = try await device(box)
                #expect(described.mode == "hfp" && described.isDuplex && box.bluez.mediaState(of: Box.first) == "idle")
            }
        }

        @Test func `S3.10 where allowed, A2DP is used with the board's microphone, also without HFP`() async throws {
            try await Box.run { box in
                try await prepare(box)
                try await box.bluez.configureMedia(of: Box.first)
                try await box.prefer(.bluetooth)
                let call = try await startCall(box)
                // It has only A2DP, which is no device for calls.
                try await box.route(.earpiece)
                #expect(try await !device(box).isAvailable)
                try await box.bridge.audio.setAllowBluetoothA2DP(true)
                try await box.route(Self.route)
                let listener = Listener(box)
                try await eventually("the call is heard over A2DP") { listener.hears() }
                let described = try await device(box)
                #expect(described.mode == "a2dp" && described.input == "builtinMic" && !described.isDuplex)
                try await box.bridge.audio.setAllowBluetoothA2DP(false)
                try await box.route(.earpiece)
                try await eventually("A2DP has ended") { box.bluez.mediaState(of: Box.first) == "idle" }
                try await box.bridge.calls.hangup(call)
            }
        }

        @Test func `a headset that ends A2DP during a call, or leaves, moves the call to the board`() async throws {
            try await Box.run(
                configure: { $0.routing.allowBluetoothA2DP = true },
                body: { box in
                    try await prepare(box)
                    try await box.bluez.configureMedia(of: Box.first)
                    try await box.prefer(.bluetooth)
                    _ = try await startCall(box)
                    try await box.route(Self.route)
                    box.bluez.suspendMedia(of: Box.first)
                    try await box.route(.earpiece)
                    try await box.bridge.audioDeviceManager.setAudioDevice(.bluetooth)
                    try await box.route(Self.route)
                    let listener = Listener(box)
                    try await eventually("the call is heard over A2DP") { listener.hears() }
                    box.bluez.dropMedia(of: Box.first)
                    try await box.route(.earpiece)
                    try await state(box, is: nil)
                    try await box.playing("earpiece")
                })
        }

        @Test func `a call stays on its device when a headset refuses A2DP`() async throws {
            try await Box.run(
                configure: { $0.routing.allowBluetoothA2DP = true },
                body: { box in
                    try await prepare(box)
                    try await box.bluez.configureMedia(of: Box.first)
                    box.bluez.media.startAnswer = .refuses
                    try await box.prefer(.bluetooth)
                    _ = try await startCall(box)
                    try await box.route(.earpiece)
                    try await eventually("it rests") { try await device(box).state == "penalty" }
                    try await box.playing("earpiece")
                })
        }

        @Test func `announcements play over A2DP, yield to a call and resume after it`() async throws {
            try await Box.run(
                configure: {
                    $0.ring.pageHeadset = .bluetooth(nil)
                    $0.routing.mediaRestore = .milliseconds(300)
                },
                body: { box in
                    try await prepare(box)
                    _ = try await box.connect(Box.first)
                    try await box.bluez.configureMedia(of: Box.first)
                    try await state(box, is: .idle)
                    let speaker = Speaker(try await box.bridge.audio.play(to: .page), 900)
                    let listener = Listener(box)
                    try await eventually("A2DP plays") { box.bluez.mediaState(of: Box.first) == "active" }
                    try await eventually("it is heard") { listener.hears() }
                    try await box.prefer(.bluetooth)
                    let call = try await startCall(box)
                    try await box.route(Self.route)
                    try await box.playing("headset 1")
                    #expect(box.bluez.mediaState(of: Box.first) == "idle")
                    try await state(box, is: .suspended)
                    try await box.bridge.calls.hangup(call)
                    try await eventually("A2DP plays again") { box.bluez.mediaState(of: Box.first) == "active" }
                    try await state(box, is: .playing)
                    speaker.stop()
                    try await eventually("A2DP has ended") { box.bluez.mediaState(of: Box.first) == "idle" }
                })
        }

        @Test func `after a headset ends announcements btcalld retries later each time`() async throws {
            let pauses = (1...6).map { MediaLink.retryPause(afterRefusals: $0) }
            #expect(pauses == [1, 2, 4, 8, 8, 8].map { .seconds($0) })
            try await Box.run(
                configure: { $0.ring.pageHeadset = .bluetooth(nil) },
                body: { box in
                    try await prepare(box)
                    try await box.bluez.configureMedia(of: Box.first)
                    try await state(box, is: .idle)
                    let speaker = Speaker(try await box.bridge.audio.play(to: .page), 900)
                    var waits: [Duration] = []
                    for _ in 1...3 {
                        try await eventually("A2DP plays") { box.bluez.mediaState(of: Box.first) == "active" }
                        try await state(box, is: .playing)
                        let end = ControlLoop.now
                        box.bluez.suspendMedia(of: Box.first)
                        try await eventually("A2DP has ended") { box.bluez.mediaState(of: Box.first) == "idle" }
                        try await eventually("btcalld retries") { box.bluez.mediaState(of: Box.first) == "active" }
                        waits.append(end.duration(to: ControlLoop.now))
                    }
                    #expect(waits[0] >= .seconds(1) && waits[1] >= .seconds(2) && waits[2] >= .seconds(4))
                    speaker.stop()
                })
        }

        @Test func `a call over A2DP ends there during another playback to the headset, and continues over HFP`()
            async throws
        {
            try await Box.run(
                configure: {
                    $0.ring.pageHeadset = .bluetooth(nil)
                    $0.routing.allowBluetoothA2DP = true
                },
                body: { box in
                    try await prepare(box)
                    try await box.bluez.configureMedia(of: Box.first)
                    try await state(box, is: .idle)
                    let speaker = Speaker(try await box.bridge.audio.play(to: .page), 900)
                    try await eventually("A2DP plays") { box.bluez.mediaState(of: Box.first) == "active" }
                    try await box.prefer(.bluetooth)
                    let call = try await startCall(box)
                    try await box.route(Self.route)
                    #expect(try await device(box).mode == "a2dp")
                    _ = try await box.connect(Box.first)
                    try await box.bridge.audio.setAllowBluetoothA2DP(false)
                    try await eventually("it is heard over HFP") { try await device(box).mode == "hfp" }
                    try await box.playing("headset 1")
                    try await box.bridge.calls.hangup(call)
                    speaker.stop()
                })
        }

        @Test func `a playback for any headset moves to another when a call needs its headset`() async throws {
            try await Box.run(
                configure: {
                    $0.ring.pageHeadset = .bluetooth(nil)
                    $0.routing.mediaRestore = .milliseconds(300)
                },
                body: { box in
                    try await prepare(box)
                    try await box.bluez.configureMedia(of: Box.second)
                    try await box.bluez.configureMedia(of: Box.first)
                    _ = try await box.connect(Box.first)
                    try await state(box, is: .idle)
                    let speaker = Speaker(try await box.bridge.audio.play(to: .page), 900)
                    try await eventually("the last one plays") { box.bluez.mediaState(of: Box.first) == "active" }
                    try await box.prefer(.bluetooth)
                    let call = try await startCall(box)
                    try await box.route(Self.route)
                    try await box.playing("headset 1")
                    #expect(box.bluez.mediaState(of: Box.first) == "idle")
                    try await box.bridge.calls.hangup(call)
                    try await eventually("one of them plays") {
                        box.bluez.mediaState(of: Box.first) == "active"
                            || box.bluez.mediaState(of: Box.second) == "active"
                    }
                    speaker.stop()
                    try await eventually("A2DP has ended") {
                        box.bluez.mediaState(of: Box.first) == "idle" && box.bluez.mediaState(of: Box.second) == "idle"
                    }
                })
        }

        @Test func `a headset plays a call of another device over A2DP`() async throws {
            try await Box.run(
                configure: { $0.listener = Box.second },
                body: { box in
                    try await prepare(box)
                    _ = try await box.connect(Box.first)
                    try await box.bluez.configureMedia(of: Box.second)
                    try await box.prefer(.bluetooth)
                    let call = try await startCall(box)
                    try await box.route(Self.route)
                    let listener = Listener(box, Box.second)
                    try await eventually("the listener hears the call") { listener.hears() }
                    try await box.bridge.setSetting("bluetooth.listener", to: "none")
                    try await eventually("A2DP has ended") { box.bluez.mediaState(of: Box.second) == "idle" }
                    try await box.bridge.setSetting("bluetooth.listener", to: "\(Box.second)")
                    try await eventually("A2DP plays") { box.bluez.mediaState(of: Box.second) == "active" }
                    try await box.bridge.calls.hangup(call)
                    try await eventually("A2DP has ended") { box.bluez.mediaState(of: Box.second) == "idle" }
                })
        }

        @Test func `volume is synchronised both ways, and media buttons arrive`() async throws {
            try await Box.run { box in
                try await prepare(box)
                let events = await EventLog(box.bridge)
                try await box.bluez.configureMedia(of: Box.first, volume: 40)
                try await eventually("the volume has arrived") { try await device(box).mediaVolume == 40 }
                try await box.bridge.audioDeviceManager.setVolume(100, of: .media, on: Self.route)
                try await eventually("the headset has it") { box.bluez.mediaVolume(of: Box.first) == 100 }
                box.bluez.setMediaVolume(7, of: Box.first)
                try await eventually("its keys are seen") { try await device(box).mediaVolume == 7 }
                let headset = try Self.route
                let error = await refusal { () async throws(BridgeError) in
                    try await box.bridge.audioDeviceManager.setVolume(128, of: .media, on: headset)
                }
                #expect(error?.code == .invalidArgument)
                for (method, word) in [("Play", "play"), ("Pause", "pause"), ("Next", "next")] {
                    #expect(box.bluez.pressMedia(method, of: Box.first))
                    try await eventually("\(word) is heard") {
                        events.all.contains(.buttonPressed(address: "\(Box.first)", button: word))
                    }
                }
            }
        }

        @Test func `another program's A2DP is left alone and reported`() async throws {
            try await Box.run(
                isBlueZRunning: true, configure: { $0.autostart = false },
                body: { box in
                    let music = try await FakeMediaProgram(on: box.address)
                    try await music.register()
                    let transport = try await box.bluez.configureMedia(of: Box.first)
                    try await box.bridge.activate()
                    _ = try await box.connect(Box.first)
                    let problem = try await box.problem("a2dp.foreign.\(Box.first)")
                    #expect(problem.what.contains("headset 1"))
                    try await state(box, is: .foreign)
                    try await music.acquire(transport)
                    try await box.bridge.audioDeviceManager.start()
                    try await box.prefer(.bluetooth)
                    _ = try await startCall(box)
                    try await box.route(Self.route)
                    #expect(try await device(box).mode == "hfp" && box.bluez.mediaOwner(of: Box.first) != nil)
                    music.leave()
                    try await box.noProblem("a2dp.foreign.\(Box.first)")
                })
        }

        @Test func `without its own A2DP btcalld waits for another program's stream and reports no problem`()
            async throws
        {
            try await Box.run(
                isBlueZRunning: true,
                configure: {
                    $0.autostart = false
                    $0.a2dp = false
                },
                body: { box in
                    let music = try await FakeMediaProgram(on: box.address)
                    try await music.register()
                    let transport = try await box.bluez.configureMedia(of: Box.first)
                    try await box.bridge.activate()
                    _ = try await box.connect(Box.first)
                    try await state(box, is: .foreign)
                    try await music.acquire(transport)
                    try await box.bridge.audioDeviceManager.start()
                    try await box.prefer(.bluetooth)
                    _ = try await startCall(box)
                    try await box.route(Self.route)
                    try await eventually("the log says so") {
                        box.log.containing("another program's music goes on").count == 1
                    }
                    #expect(try await box.bridge.status().problems.allSatisfy { !$0.id.hasPrefix("a2dp.") })
                    music.leave()
                })
        }

        @Test func `with A2DP disabled no endpoint is registered, and it can be enabled at run time`() async throws {
            try await Box.run(
                configure: { $0.a2dp = false },
                body: { box in
                    _ = try await box.connect(Box.first)
                    #expect(box.bluez.media.endpoints.isEmpty)
                    try await box.bridge.setSetting("bluetooth.a2dp", to: "yes")
                    try await eventually("bluetoothd has the endpoint") { !box.bluez.media.endpoints.isEmpty }
                    try await box.bluez.configureMedia(of: Box.first)
                    try await state(box, is: .idle)
                    try await box.bridge.setSetting("bluetooth.a2dp", to: "no")
                    try await eventually("it is withdrawn") { box.bluez.media.endpoints.isEmpty }
                    try await state(box, is: nil)
                })
        }
    }
}
