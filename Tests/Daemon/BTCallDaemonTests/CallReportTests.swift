import BTCall
import BTCallAPI
import BTCallDaemon
import BTCallSimulator
import BluetoothTypes
import CallControl
import Configuration
import ControlLoop
import DBus
import Foundation
import TestSupport
import Testing

extension DaemonTests {
    /// What an application says about its calls, and changes later.
    @Suite @ControlPlane struct CallReportTests {
        private func update(_ box: Box, _ state: String, _ options: [String: Value]) async throws -> BusError? {
            let path = try #require(box.daemon.calls.calls.first?.path)
            do throws(BusError) {
                _ = try await box.client.call(
                    "org.btcall", path, BTCallName.Interface.call, "Update", [.string(state), .vardict(options)])
                return nil
            } catch {
                return error
            }
        }

        private func only(_ box: Box) async throws -> Call { try #require(try await box.bridge.calls.list().first) }

        @Test func `A call leaves and refuses the devices that its application excludes, until it allows them`()
            async throws
        {
            try await Box.run { box in
                try await box.prefer(.bluetooth)
                let ears = try await box.connect(Box.first)
                let registration = try await box.register()
                let call = try await registration.reportOutgoing(number: "1", state: .active, routes: [.earpiece])
                try await box.route(.earpiece)
                #expect(try await only(box).routes == [.earpiece])
                let headset = try #require(Choice.bluetooth(address: "\(Box.first)"))
                try await eventually("the headset is excluded") {
                    try await box.device(headset.description)?["state"] == "unsupported"
                }
                #expect(try await box.device("speakerphone")?["state"] == "unsupported")
                for choice in [headset, .bluetooth, .speakerphone] {
                    let error = await refusal { () throws(BridgeError) in
                        try await box.bridge.audioDeviceManager.select(choice)
                    }
                    #expect(error?.code == .unavailable)
                    #expect(error?.message.contains("Call1.Routes") == true, "\(error?.message ?? "")")
                }
                try await registration.update(call, routes: Set(Call.Route.allCases))
                try await box.route(headset)
                #expect(try await only(box).routes == Call.Route.allCases)
                try await registration.update(call, routes: [.speakerphone, .earpiece])
                try await box.route(.earpiece)
                #expect(try await only(box).routes == [.speakerphone, .earpiece])
                withExtendedLifetime(ears) {}
            }
        }

        @Test func `An empty list of routes and an unknown route are refused with the accepted ones`() async throws {
            try await Box.run { box in
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                for routes in [[], ["earpiece", "cinema"]] {
                    let error = try await update(box, "", ["routes": .strings(routes)])
                    #expect(error?.name == "org.btcall.Error.InvalidArgument")
                    #expect(
                        error?.message.hasSuffix("speakerphone, wiredHeadset, earpiece, bluetooth") == true,
                        "\(error?.message ?? "")")
                }
                #expect(try await only(box).routes == Call.Route.allCases)
            }
        }

        @Test func `An application changes name, number, video and capabilities of its call without its state`()
            async throws
        {
            try await Box.run { box in
                let headset = try await box.rawHeadset()
                try await headset.establishWithCallWaiting()
                let registration = try await box.register([.hold, .dtmf])
                let call = try await registration.reportOutgoing(number: "5550100", name: "Gate")
                try await registration.update(
                    call, name: "Door", handle: "tel:5550199", hasVideo: true, capabilities: [.dtmf])
                var now = try await only(box)
                #expect(now.state == .dialing)
                #expect(now.name == "Door" && now.number == "5550199" && now.handle == "tel:5550199")
                #expect(now.hasVideo && now.capabilities == [.dtmf])
                let lines = try await headset.said()
                #expect(lines.contains { $0.hasPrefix("+CLCC: 1,0,2,") && $0.contains("\"5550199\"") }, "\(lines)")
                // What is left out stays.
                try await registration.update(call, .held)
                try await registration.update(call, hasVideo: false)
                now = try await only(box)
                #expect(now.state == .held && !now.hasVideo && now.name == "Door" && now.number == "5550199")
                let stranger = try await update(box, "", ["name": "Mallory"])
                #expect(stranger?.name == "org.btcall.Error.NotProvider")
                #expect(try await only(box).name == "Door")
            }
        }

        @Test func `A reason belongs to the end of a call, a time to its answer and its end`() async throws {
            try await Box.run { box in
                let registration = try await box.register()
                let past = ControlLoop.now.nanoseconds / 1_000_000 - 5000
                let call = try await registration.reportOutgoing(
                    number: "1", state: .active, monotonicTimeMs: past - 60_000)
                for (state, name, value) in [
                    ("active", "reason", Value.string("busy")), ("", "reason", "busy"),
                    ("alerting", "time", .uint64(UInt64(past))), ("held", "time", .uint64(UInt64(past))),
                ] {
                    let error = try await update(box, state, [name: value])
                    #expect(error?.name == "org.btcall.Error.InvalidArgument", "\(state) \(name)")
                    #expect(error?.message.hasPrefix("\(name) in the options of Update goes with the state") == true)
                }
                try await registration.update(call, .ended, monotonicTimeMs: past)
                let entry = try #require(try await box.bridge.calls.log().first)
                #expect((59_900...60_100).contains(entry.durationMs), "\(entry.durationMs)")
            }
        }

        @Test func `With the ALSA PCM a provider registers without rate, format and channels`() async throws {
            try await Box.run { box in
                for (name, value) in [("rate", Value.uint32(8000)), ("format", "S16"), ("channels", .uint32(1))] {
                    do throws(BusError) {
                        _ = try await box.client.call(
                            "org.btcall", BTCallPath.calls, BTCallName.Interface.calls, "RegisterProvider",
                            [.objectPath("/test"), .vardict(["audio": "pcm", name: value])])
                        Issue.record("\(name) was accepted")
                    } catch {
                        #expect(
                            error.message.hasPrefix("\(name) in the options of RegisterProvider goes with audio=fd"))
                    }
                }
                var description = CallProviderDescription(name: "card", rate: 8000)
                description.audio = .pcm
                box.registrations.append(try await box.bridge.register(box.telephone, as: description))
            }
        }

        @Test func `A client that comes later learns the camera of a call`() async throws {
            try await Box.run { box in
                let registration = try await box.register([.video])
                let call = try await registration.reportOutgoing(
                    number: "1", state: .active, media: CallMedia(video: .sendReceive))
                #expect(try await only(box).camera == nil)
                let settings = CameraSettings(camera: "front", width: 1280, height: 720, framesPerSecond: 30)
                try await registration.reportCamera(settings, of: call)
                #expect(try await only(box).camera == settings)
                let late = try await CallBridge(bus: .address("\(box.address)"))
                var events = await late.events().makeAsyncIterator()
                var seen: BridgeEvent?
                while seen == nil, let event = await events.next() {
                    if case .cameraSettingsChanged = event { seen = event }
                }
                #expect(seen == .cameraSettingsChanged(call, settings))
                await late.close()
            }
        }

        @Test func `Removing all calls ends those of every application, and says what remains`() async throws {
            try await Box.run { box in
                let registration = try await box.register([.hold])
                _ = try await registration.reportOutgoing(number: "1", state: .active)
                _ = try await registration.reportIncoming(number: "2")
                box.telephone.manner = .refusing("not now")
                let error = await refusal { () throws(BridgeError) in try await box.bridge.calls.removeAllCalls() }
                #expect(error?.code == .providerFailed)
                #expect(error?.message.hasPrefix("2 of 2 calls did not end: ") == true, "\(error?.message ?? "")")
                box.telephone.manner = .willing
                try await box.bridge.calls.removeAllCalls()
                #expect(try await box.bridge.calls.list().isEmpty)
                let reasons = box.telephone.requests.compactMap { request -> String? in
                    if case .end(_, let reason) = request { reason } else { nil }
                }
                #expect(reasons.suffix(2).sorted() == ["localHangUp", "rejected"])
                // Without a call there is nothing to do.
                try await box.bridge.calls.removeAllCalls()
                _ = try await registration.reportIncoming(number: "3")
                _ = try await registration.reportIncoming(number: "4")
                try await registration.removeAllCalls()
                #expect(try await box.bridge.calls.list().isEmpty)
            }
        }

        @Test func `Ending a call is done, fails, or is canceled when the call has ended`() async throws {
            try await Box.run { box in
                let registration = try await box.register()
                let call = box.bridge.calls[try await box.startCall(registration)]
                box.telephone.manner = .refusing("not now")
                guard case .failed(let error) = await call.end() else {
                    Issue.record("it did not fail")
                    return
                }
                #expect(error.code == .providerFailed)
                box.telephone.manner = .willing
                #expect(await call.end() == .done)
                #expect(await call.end() == .canceled)
            }
        }

        @Test func `An application is told when its call alone is muted`() async throws {
            try await Box.run { box in
                let registration = try await box.register([.mute])
                let id = try await box.startCall(registration)
                let call = box.bridge.calls[id]
                var turns: [Bool] {
                    box.telephone.requests.compactMap { request in
                        if case .muted(id, let isMuted) = request { isMuted } else { nil }
                    }
                }
                try await call.mute(true)
                #expect(try await call.isMutedAlone)
                try await eventually("the application is told") { turns == [true] }
                #expect(try await call.muted == .off)
                // The microphone of all calls changes nothing for this one.
                try await call.muted(.on)
                try await call.muted(.off)
                try await call.mute(false)
                try await eventually("the application is told") { turns == [true, false] }
                #expect(try await !call.isMutedAlone)
            }
        }
    }
}
