import BTCall
import BTCallBench
import BTCallDaemon
import BTCallSimulator
import BluetoothTypes
import CallControl
import CallExchange
import Configuration
import ControlLoop
import DBus
import Routing
import TestSupport
import Testing

extension DaemonTests {
    @Suite @ControlPlane struct CallTests {
        @Test func `An incoming call rings at the headset, which answers and ends it`() async throws {
            try await Box.run { box in
                try await box.prefer(.bluetooth)
                let ears = try await box.connect(Box.first, codecs: [.cvsd, .mSBC])
                let registration = try await box.register()
                let call = try await registration.reportIncoming(number: "+491701", name: "Gate")
                try await ears.hear(.ring)
                try await ears.hear(.callerID("+491701"))
                #expect(try await box.bridge.calls.list().map(\.state) == [.ringing])
                ears.headset.press(.answer)
                try await ears.hear(.indicator("call", 1))
                #expect(box.telephone.requests.contains(.answer(call)))
                #expect(try await box.bridge.calls.list().map(\.state) == [.active])
                let choice = try #require(Choice.bluetooth(address: "\(Box.first)"))
                try await box.route(choice)
                #expect(try await box.bridge.status().codec == "mSBC")
                try await box.playing("headset 1")
                try await eventually("the far end hears the headset") {
                    Tone.isHeard(in: box.telephone.exchange.takeRecorded())
                }
                ears.headset.press(.hangUp)
                try await ears.hear(.indicator("call", 0))
                #expect(box.telephone.requests.last == .end(call, "localHangUp"))
                #expect(try await box.bridge.calls.list().isEmpty)
                try await box.route(.none)
            }
        }

        #if LC3
            @Test func `A headset with LC3-SWB plays a call in super wide band`() async throws {
                let configure: (inout Configuration) -> Void = { $0.codecs = [.lc3SWB, .mSBC, .cvsd] }
                let prepare: (Box) async throws -> Void = { box in
                    box.simulation.addHeadset(
                        Box.first, name: "headset 1", codecs: [.lc3SWB, .mSBC, .cvsd], microphone: Tone.samples)
                }
                try await Box.run(configure: configure, prepare: prepare) { box in
                    try await box.prefer(.bluetooth)
                    let ears = try await box.connect(Box.first, codecs: [.cvsd, .mSBC, .lc3SWB])
                    let registration = try await box.register()
                    _ = try await registration.reportIncoming(number: "+491701", name: "Gate")
                    try await ears.hear(.ring)
                    ears.headset.press(.answer)
                    try await ears.hear(.indicator("call", 1))
                    let choice = try #require(Choice.bluetooth(address: "\(Box.first)"))
                    try await box.route(choice)
                    #expect(ears.events.contains(.codecSelected(.lc3SWB)))
                    #expect(try await box.bridge.status().codec == "LC3-SWB")
                    try await box.playing("headset 1")
                    try await eventually("the far end hears the headset") {
                        Tone.isHeard(in: box.telephone.exchange.takeRecorded())
                    }
                    ears.headset.press(.hangUp)
                    try await ears.hear(.indicator("call", 0))
                }
            }
        #endif

        @Test(arguments: [
            Telephone.Format(rate: 44100, sampleFormat: .f32, channels: 2),
            Telephone.Format(rate: 8000, sampleFormat: .s16, channels: 2),
        ])
        func `S1.23 An application sends and receives audio in the format it requested`(
            format: Telephone.Format
        ) async throws {
            try await Box.run { box in
                try await box.prefer(.bluetooth)
                _ = try await box.connect(Box.first, codecs: [.cvsd, .mSBC])
                let registration = try await box.register([], format)
                _ = try await box.startCall(registration)
                let choice = try #require(Choice.bluetooth(address: "\(Box.first)"))
                try await box.route(choice)
                try await box.playing("headset 1")
                try await eventually("the far end hears the headset") {
                    Tone.isHeard(in: box.telephone.exchange.takeRecorded())
                }
                #expect(box.telephone.format == format)
            }
        }

        @Test func `A ringing call is rejected by AT+CHUP`() async throws {
            try await Box.run { box in
                let ears = try await box.connect(Box.first)
                let registration = try await box.register()
                let call = try await registration.reportIncoming(number: "")
                try await ears.hear(.ring)
                ears.headset.press(.hangUp)
                try await ears.hear(.indicator("callsetup", 0))
                #expect(box.telephone.requests == [.end(call, "rejected")])
            }
        }

        @Test
        func `A provider's refusal is an ERROR at the headset, its message reaches clients, and the call rings on`()
            async throws
        {
            try await Box.run { box in
                let ears = try await box.connect(Box.first)
                let registration = try await box.register()
                let call = try await registration.reportIncoming(number: "1")
                try await ears.hear(.ring)
                box.telephone.manner = .refusing("the line is down")
                ears.headset.press(.answer)
                try await ears.hear(.refused("ATA"))
                let error = await refusal { () throws(BridgeError) in try await box.bridge.calls.answer(call) }
                #expect(error?.code == .providerFailed)
                #expect(error?.message.contains("the line is down") == true)
                #expect(try await box.bridge.calls.list().map(\.state) == [.ringing])
                ears.forget()
                try await ears.hear(.ring)
                box.telephone.manner = .willing
                try await box.bridge.calls.answer(call)
                #expect(try await box.bridge.calls.list().map(\.state) == [.active])
            }
        }

        @Test func `A request to a provider that does not answer in time fails`() async throws {
            try await Box.run(
                configure: { $0.timeouts.provider = .milliseconds(100) },
                body: { box in
                    let ears = try await box.connect(Box.first)
                    let registration = try await box.register()
                    let call = try await registration.reportIncoming(number: "1")
                    try await ears.hear(.ring)
                    box.telephone.manner = .silent
                    ears.headset.press(.answer)
                    try await ears.hear(.refused("ATA"))
                    let error = await refusal { () throws(BridgeError) in try await box.bridge.calls.answer(call) }
                    #expect(error?.code == .timedOut)
                    #expect(try await box.bridge.calls.list().map(\.state) == [.ringing])
                })
        }

        @Test func `The calls of a provider that leaves the bus end`() async throws {
            try await Box.run { box in
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                let watcher = try await CallBridge(bus: .address("\(box.address)"))
                var events = await watcher.events().makeAsyncIterator()
                #expect(await events.next() == .daemonAppeared)
                await box.bridge.close()
                var reason: String?
                while reason == nil, let event = await events.next() {
                    if case .callRemoved(_, let why) = event { reason = why }
                }
                #expect(reason == "providerGone")
                #expect(try await watcher.calls.list().isEmpty)
                #expect(box.daemon.router.policy.current == nil)
                await watcher.close()
            }
        }

        @Test func `Place returns the call that it dialled, whatever happens meanwhile`() async throws {
            try await Box.run { box in
                let registration = try await box.register([.dial])
                box.telephone.manner = .silent
                async let placed = box.client.call(
                    "org.btcall", "/org/btcall/calls", "org.btcall.Calls1", "Place",
                    [.string("4711"), .vardict([:])])
                try await eventually("the provider is asked") { box.telephone.requests == [.start("4711")] }
                _ = try await registration.reportIncoming(number: "1")
                box.telephone.manner = .willing
                let path = try await placed.first?.stringValue
                #expect(path == box.daemon.calls.calls.first?.path)
                let calls = try await box.bridge.calls.list()
                #expect(calls.map(\.state) == [.dialing, .waiting])
                #expect(calls.first?.number == "4711")
            }
        }

        @Test func `Mute sends digital silence, and ends with the last call`() async throws {
            try await Box.run { box in
                try await box.prefer(.none)
                let registration = try await box.register()
                let call = try await box.startCall(registration)
                let exchange = box.telephone.exchange
                try await eventually("the far end hears the microphone") { Tone.isHeard(in: exchange.takeRecorded()) }
                try await box.bridge.calls.setMuted(true)
                #expect(try await box.bridge.status().isMuted)
                var silent = 0
                try await eventually("half a second of silence") {
                    for sample in exchange.takeRecorded() { silent = sample == 0 ? silent + 1 : 0 }
                    return silent >= 8000
                }
                #expect(try await box.bridge.audioDeviceManager.activeRoute() == .earpiece)
                try await registration.update(call, .ended)
                #expect(try await !box.bridge.calls.isMuted())
                _ = try await box.startCall(registration)
                try await eventually("the far end hears the next call") { Tone.isHeard(in: exchange.takeRecorded()) }
            }
        }

        @Test func `Mute is refused without a call, so that the next call is heard`() async throws {
            try await Box.run { box in
                try await box.prefer(.none)
                let calls = box.bridge.calls
                let refused = await refusal { () throws(BridgeError) in try await calls.setMuted(true) }
                #expect(refused?.code == .wrongState)
                #expect(refused?.message == "there is no call to mute: mute it during a call")
                #expect(try await !calls.isMuted())
                try await calls.setMuted(false)
                let registration = try await box.register()
                let ringing = try await registration.reportIncoming(number: "1")
                try await calls.setMuted(true)
                try await registration.update(ringing, .active)
                #expect(try await calls.isMuted())
                try await registration.update(ringing, .ended)
                #expect(try await !calls.isMuted())
                _ = try await box.startCall(registration)
                let exchange = box.telephone.exchange
                try await eventually("the far end hears the next call") { Tone.isHeard(in: exchange.takeRecorded()) }
            }
        }

        @Test func `A held call has no audio until it is resumed`() async throws {
            try await Box.run { box in
                let registration = try await box.register([.hold, .dtmf])
                let call = try await box.startCall(registration)
                try await box.playing("earpiece")
                let path = try #require(box.daemon.calls.calls.first?.path)
                func hold(_ held: Bool) async -> String? {
                    await box.error(path, "org.btcall.Call1", "SetHeld", [.bool(held)])
                }
                #expect(await hold(true) == nil)
                #expect(try await box.bridge.calls.list().map(\.state) == [.held])
                #expect(await box.error(path, "org.btcall.Call1", "SendDTMF", ["1"]) == "org.btcall.Error.WrongState")
                #expect(await hold(false) == nil)
                #expect(await box.error(path, "org.btcall.Call1", "SendDTMF", ["1#"]) == nil)
                try await box.playing("earpiece")
                let tones = box.telephone.requests.filter { if case .tones = $0 { true } else { false } }
                #expect(tones == [.tones("1#")])
                #expect(box.telephone.requests.count { $0 == .audio(call) } == 2)
            }
        }
    }
}
