import AudioPaths
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
import HeadsetControl
import Routing
import TestSupport
import Testing

extension DaemonTests {
    /// Directions of the audio and video of calls, and their effects.
    @Suite @ControlPlane struct CallMediaTests {
        private func media(_ box: Box) async throws -> CallMedia? { try await box.bridge.calls.list().first?.media }

        @Test func `S2.6 A call that only sends plays nothing here, a call that only receives has no microphone`()
            async throws
        {
            try await Box.run { box in
                try await box.prefer(.none)
                let registration = try await box.register()
                let call = try await box.startCall(registration)
                try await box.earpiecePlays(true)
                try await box.farEndHears(true)
                try await box.bridge.calls.setMedia(of: call, audio: .sendOnly)
                try await box.earpiecePlays(false)
                try await box.farEndHears(true)
                try await box.bridge.calls.setMedia(of: call, audio: .receiveOnly)
                try await box.earpiecePlays(true)
                try await box.farEndHears(false)
                // The microphone is not requested: it is closed, and the policy has none.
                try await eventually("the microphone is closed") {
                    try await box.device("earpiece")?["input"] == nil && !box.daemon.microphone.isLive
                }
                try await box.bridge.calls.setMedia(of: call, audio: .off)
                try await box.earpiecePlays(false)
                try await box.farEndHears(false)
                try await box.bridge.calls.setMedia(of: call, audio: .sendReceive)
                try await box.earpiecePlays(true)
                try await box.farEndHears(true)
                let asked = box.telephone.requests.compactMap { request -> CallMedia? in
                    if case .media(call, let media, camera: true) = request { media } else { nil }
                }
                #expect(asked.map(\.audio) == [.sendOnly, .receiveOnly, .off, .sendReceive])
                #expect(try await box.bridge.audioDeviceManager.activeRoute() == .earpiece)
            }
        }

        @Test func `S2.7 Local audio is enabled or disabled independently of hold`() async throws {
            try await Box.run { box in
                try await box.prefer(.none)
                let registration = try await box.register([.hold, .video])
                let call = try await registration.reportOutgoing(
                    number: "1", state: .active, media: CallMedia(video: .sendReceive))
                let calls = box.bridge.calls
                try await box.farEndHears(true)
                try await calls.setLocalAudioEnabled(call, false)
                try await box.farEndHears(false)
                try await eventually("no microphone is live") { !box.daemon.microphone.isLive }
                #expect(try await !calls.isMuted())
                #expect(await calls.hold(call) == .done)
                #expect(try await calls.list().map(\.isLocalAudioEnabled) == [false])
                #expect(await calls.resume(call) == .done)
                try await box.farEndHears(false)
                #expect(await calls.hold(call) == .done)
                try await calls.setLocalAudioEnabled(call, true)
                #expect(try await calls.list().map(\.state) == [.held])
                #expect(await calls.resume(call) == .done)
                try await box.farEndHears(true)
                try await calls.setLocalVideoEnabled(call, false)
                #expect(try await calls.list().map(\.isLocalVideoEnabled) == [false])
                let told = Telephone.Request.media(call, CallMedia(video: .sendReceive), camera: false)
                try await eventually("the application is notified") { box.telephone.requests.contains(told) }
                // The camera belongs to the application: when it refuses, the property is restored.
                box.telephone.manner = .refusing("no camera")
                try await calls.setLocalVideoEnabled(call, true)
                try await eventually("the camera is still off") {
                    try await calls.list().map(\.isLocalVideoEnabled) == [false]
                }
            }
        }

        @Test func `S2.19 An application's media change is accepted at once, or after a client has agreed`()
            async throws
        {
            try await Box.run { box in
                try await box.prefer(.none, default: .none)
                let registration = try await box.register([.video])
                let call = try await box.startCall(registration)
                try await box.route(.earpiece)
                try await registration.requestMediaChange(of: call, video: .sendReceive)
                let video = CallMedia(video: .sendReceive)
                #expect(box.telephone.requests.contains(.media(call, video, camera: true)))
                #expect(try await media(box) == video)
                try await box.route(.speakerphone)
                #expect(try await box.bridge.status().reason == "mediaChanged")

                try await box.bridge.setSetting("calls.mediaChange", to: "ask")
                let client = try await CallBridge(bus: .address("\(box.address)"))
                var events = await client.events().makeAsyncIterator()
                #expect(await events.next() == .daemonAppeared)
                for isAccepted in [false, true] {
                    async let result = refusal { () throws(BridgeError) in
                        try await registration.requestMediaChange(of: call, video: .off)
                    }
                    var asked: BridgeEvent?
                    while asked == nil, let event = await events.next() {
                        if case .mediaChangeRequested = event { asked = event }
                    }
                    #expect(asked == .mediaChangeRequested(call, CallMedia()))
                    let own = await refusal { () throws(BridgeError) in
                        try await box.bridge.calls.answerMediaChange(of: call, true)
                    }
                    #expect(own?.code == .accessDenied)
                    #expect(try await media(box) == video)
                    try await client.calls.answerMediaChange(of: call, isAccepted)
                    #expect(await result?.code == (isAccepted ? nil : .accessDenied))
                    #expect(try await media(box) == (isAccepted ? CallMedia() : video))
                }
                try await box.route(.earpiece)
                let others = await box.error(
                    box.daemon.calls.calls.first?.path ?? "", "org.btcall.Call1", "RequestMediaChange",
                    [.vardict(["video": "none"])])
                #expect(others == "org.btcall.Error.NotProvider")
                // The open request to clients ends with the call.
                async let late = refusal { () throws(BridgeError) in
                    try await registration.requestMediaChange(of: call, video: .sendOnly)
                }
                while let event = await events.next() {
                    if case .mediaChangeRequested = event { break }
                }
                try await registration.update(call, .ended)
                #expect(await late?.code == .noSuchCall)
                await client.close()
            }
        }

        @Test func `A media change that no client answers times out`() async throws {
            try await Box.run(
                configure: {
                    $0.mediaChange = .ask
                    $0.timeouts.media = .milliseconds(50)
                },
                body: { box in
                    let registration = try await box.register([.video])
                    let call = try await box.startCall(registration)
                    let error = await refusal { () throws(BridgeError) in
                        try await registration.requestMediaChange(of: call, video: .sendOnly)
                    }
                    #expect(error?.code == .timedOut)
                    #expect(try await media(box) == CallMedia())
                })
        }

        @Test func `S2.28 A video call uses the speakerphone until its video ends`() async throws {
            try await Box.run { box in
                try await box.prefer(.none, default: .none)
                let registration = try await box.register([.video])
                let call = try await registration.reportIncoming(number: "1", media: CallMedia(video: .sendReceive))
                try await box.bridge.calls.answer(call)
                try await box.route(.speakerphone)
                try await box.bridge.calls.setMedia(of: call, video: .off)
                try await box.route(.earpiece)
            }
        }

        @Test
        func `S4.16 Mute applies to all calls, whether set by a client or by a headset's volume 0, over route changes`()
            async throws
        {
            try await Box.run { box in
                try await box.prefer(.bluetooth)
                let ears = try await box.connect(Box.first)
                let registration = try await box.register([.mute])
                let call = try await box.startCall(registration)
                let headset = try #require(Choice.bluetooth(address: "\(Box.first)"))
                try await box.route(headset)
                try await box.farEndHears(true)
                let path = try #require(box.daemon.calls.calls.first?.path)
                func set(_ isMuted: Bool) async -> String? {
                    await box.error(
                        path, "org.freedesktop.DBus.Properties", "Set",
                        ["org.btcall.Call1", "Muted", .variant(.bool(isMuted))])
                }
                #expect(await set(true) == nil)
                #expect(try await box.bridge.calls.isMuted())
                try await box.farEndHears(false)
                try await eventually("the application is notified") {
                    box.telephone.requests.last == .muted(call, true)
                }
                #expect(await set(false) == nil)
                try await box.farEndHears(true)
                ears.headset.setMicrophoneVolume(0)
                try await eventually("the headset mutes") { try await box.bridge.calls.isMuted() }
                try await box.farEndHears(false)
                box.bluez.disconnect(Box.first)
                try await box.route(.earpiece)
                #expect(try await box.bridge.calls.isMuted())
                #expect(await set(false) == nil)
                let again = try await box.connect(Box.first)
                try await box.bridge.audioDeviceManager.select(headset)
                try await box.route(headset)
                // Volume 0 was a mute; it is not restored as a volume.
                #expect(!again.events.contains(.microphoneVolume(0)))
                again.headset.setMicrophoneVolume(0)
                try await eventually("the headset mutes again") { try await box.bridge.calls.isMuted() }
                again.headset.setMicrophoneVolume(9)
                try await eventually("and opens it") { try await !box.bridge.calls.isMuted() }
                try await box.bridge.setSetting("calls.muteByHeadset", to: "no")
                again.headset.setMicrophoneVolume(0)
                try await eventually("the volume is known") {
                    box.daemon.headsets.description(of: Box.first)?.microphoneVolume == 0
                }
                #expect(try await !box.bridge.calls.isMuted())
            }
        }
    }
}
