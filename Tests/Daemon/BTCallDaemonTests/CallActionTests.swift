import BTCall
import BTCallAPI
import BTCallDaemon
import BTCallSimulator
import BluetoothTypes
import CallControl
import Configuration
import ControlLoop
import DBus
import Routing
import TestSupport
import Testing

extension DaemonTests {
    /// Requests to telephony applications: their origins and their results.
    @Suite @ControlPlane struct CallActionTests {
        /// The reply to the last command of this text that is not an indicator; nil before it has arrived.
        private func reply(of headset: VirtualHeadset, to command: String) -> String? {
            guard let index = headset.transcript.lastIndex(of: "> " + command) else { return nil }
            return headset.transcript[(index + 1)...].first { !$0.hasPrefix("< +CIEV") }
        }

        private func say(
            _ command: String, _ headset: VirtualHeadset, expecting answer: String,
            sourceLocation: SourceLocation = #_sourceLocation
        ) async throws {
            let before = headset.transcript.count
            headset.say(command)
            try await eventually("\(command) is answered with \(answer)", sourceLocation: sourceLocation) {
                headset.transcript.count > before && reply(of: headset, to: command) == "< " + answer
            }
        }

        private func states(_ box: Box) async throws -> [Call.State] {
            try await box.bridge.calls.list().map(\.state)
        }

        // MARK: Beginning and answering

        @Test func `S2.8 Place asks the application to start with the same directions, and refuses what it cannot`()
            async throws
        {
            try await Box.run { box in
                let registration = try await box.register([.dial, .video])
                let call = try await box.bridge.calls.dial("sip:a@b", audio: .receiveOnly, video: .sendOnly)
                #expect(box.telephone.requests == [.start("sip:a@b")])
                let wanted = CallMedia(audio: .receiveOnly, video: .sendOnly)
                #expect(box.telephone.asked == [wanted])
                #expect(try await box.bridge.calls.list().map(\.media) == [wanted])
                try await registration.update(call, .ended)
                _ = try await box.bridge.calls.dial("4711")
                #expect(box.telephone.asked.last == CallMedia())
                let other = try await CallBridge(bus: .address("\(box.address)"))
                _ = try await other.register(box.telephone, as: .init(name: "audio only", capabilities: [.dial]))
                do throws(DialFailure) {
                    _ = try await other.calls.dial("1", video: .sendReceive, provider: "audio only")
                    Issue.record("it has no video")
                } catch {
                    #expect(error.cause == .noProvider)
                    #expect(error.description.contains("capability video"))
                }
                await other.close()
            }
        }

        @Test func `S2.9 ATA, the hook, a client and the command line each cause one PerformAnswer`() async throws {
            let board = SimulatedBoard()
            board.addHook()
            try await Box.run(
                board: board, configure: { $0.localDevices[.earpiece]?.hook = HookSpecification("evdev:cradle") },
                body: { box in
                    let ears = try await box.connect(Box.first)
                    let registration = try await box.register()
                    let paths: [(String, @ControlPlane (Call.ID) async throws -> Void)] = [
                        ("ATA", { _ in ears.headset.press(.answer) }),
                        ("hook", { _ in board.lift() }),
                        ("client", { call in try await box.bridge.calls.answer(call, audio: .sendReceive) }),
                        (
                            "command line",
                            { _ in
                                let (text, status) = try await Program(box.address)("answer")
                                #expect(status == 0, "\(text)")
                            }
                        ),
                    ]
                    for (name, answer) in paths {
                        let call = try await registration.reportIncoming(number: "1001", name: name)
                        try await answer(call)
                        try await eventually("\(name) answers") { try await states(box) == [.active] }
                        #expect(box.telephone.requests.count { $0 == .answer(call) } == 1, "\(name)")
                        try await registration.update(call, .ended)
                    }
                    #expect(box.telephone.requests.count { if case .answer = $0 { true } else { false } } == 4)
                })
        }

        @Test func `S2.32 An answer uses the configured directions, or those of its options`() async throws {
            try await Box.run(
                configure: {
                    $0.audioDirection = .receiveOnly
                    $0.videoDirection = .sendOnly
                },
                body: { box in
                    let ears = try await box.connect(Box.first)
                    let registration = try await box.register([.video])
                    let video = CallMedia(video: .sendReceive)
                    let first = try await registration.reportIncoming(number: "1", media: video)
                    try await ears.hear(.ring)
                    ears.headset.press(.answer)
                    try await eventually("it is answered") { try await states(box) == [.active] }
                    #expect(box.telephone.asked == [CallMedia(audio: .receiveOnly, video: .sendOnly)])
                    #expect(try await box.bridge.calls.list().map(\.media) == box.telephone.asked)
                    try await registration.update(first, .ended)
                    let second = try await registration.reportIncoming(number: "2", media: video)
                    try await box.bridge.calls.answer(second, audio: .sendReceive, video: .off)
                    #expect(box.telephone.asked.last == CallMedia(audio: .sendReceive, video: .off))
                    try await registration.update(second, .ended)
                    // Without an offer of video the direction is off.
                    let third = try await registration.reportIncoming(number: "3")
                    try await box.bridge.calls.answer(third)
                    #expect(box.telephone.asked.last == CallMedia(audio: .receiveOnly, video: .off))
                    try await registration.update(third, .ended)
                    try await box.bridge.setSetting("calls.audioDirection", to: "sendOnly")
                    let fourth = try await registration.reportIncoming(number: "4")
                    try await box.bridge.calls.answer(fourth)
                    #expect(box.telephone.asked.last == CallMedia(audio: .sendOnly, video: .off))
                })
        }

        @Test func `S4.13 ATD, AT+BLDN and Place start a call in the same way`() async throws {
            try await Box.run { box in
                let headset = try await box.connect(Box.first).headset
                let registration = try await box.register([.dial])
                let origins: [@ControlPlane () async throws -> Void] = [
                    { headset.say("ATD4711;") }, { headset.press(.redial) },
                    { _ = try await box.bridge.calls.dial("4711") },
                ]
                for (index, dial) in origins.enumerated() {
                    try await dial()
                    try await eventually("\(index): it is dialled") {
                        box.telephone.requests == Array(repeating: .start("4711"), count: index + 1)
                    }
                    #expect(try await states(box) == [.dialing])
                    #expect(box.telephone.asked.last == CallMedia())
                    let call = try #require(try await box.bridge.calls.list().first)
                    #expect(call.number == "4711" && call.direction == .outgoing)
                    try await registration.update(call.id, .ended)
                }
            }
        }

        // MARK: Actions

        @Test func `S2.20 Every action calls the application; its error becomes ERROR, and the call is unchanged`()
            async throws
        {
            #expect(Configuration().timeouts.provider == .seconds(5))
            try await Box.run { box in
                let ears = try await box.connect(Box.first)
                let all: Set<CallProviderDescription.Capability> = [.hold, .swap, .conference, .dtmf, .mute, .dial]
                let registration = try await box.register(all)
                let first = try await registration.reportIncoming(number: "1")
                try await ears.hear(.ring)
                box.telephone.manner = .refusing("the line is down")
                ears.headset.press(.answer)
                try await ears.hear(.refused("ATA"))
                #expect(try await states(box) == [.ringing])
                box.telephone.manner = .willing
                ears.headset.press(.answer)
                try await eventually("it is answered") { try await states(box) == [.active] }
                #expect(box.telephone.requests.prefix(2) == [.answer(first), .answer(first)])
                try await say("AT+VTS=5", ears.headset, expecting: "OK")
                try await box.bridge.calls.setMuted(true)
                try await say("AT+CHLD=2", ears.headset, expecting: "OK")
                let second = try await box.bridge.calls.dial("2")
                try await registration.update(second, .active)
                #expect(try await states(box) == [.held, .active])
                box.telephone.manner = .refusing("not now")
                let refused = await refusal { () throws(BridgeError) in try await box.bridge.calls.swap() }
                #expect(refused?.code == .providerFailed)
                #expect(try await states(box) == [.held, .active])
                box.telephone.manner = .willing
                try await box.bridge.calls.swap()
                #expect(try await states(box) == [.active, .held])
                try await say("AT+CHLD=3", ears.headset, expecting: "OK")
                #expect(try await states(box) == [.active, .active])
                try await box.bridge.calls.hangup(second)
                let asked = box.telephone.requests.filter { if case .audio = $0 { false } else { true } }
                for wanted: Telephone.Request in [
                    .tones("5"), .muted(first, true), .held(first, true), .start("2"), .muted(second, true),
                    .swap(hold: second, resume: first), .conference([first, second]), .end(second, "localHangUp"),
                ] {
                    #expect(asked.contains(wanted), "\(wanted)")
                }
            }
        }

        @Test func `Hanging up on a headset ends all calls of a conference, Call1.End only one`() async throws {
            try await Box.run { box in
                let ears = try await box.connect(Box.first)
                let registration = try await box.register([.hold, .conference, .dial])
                func ended() -> [Telephone.Request] {
                    box.telephone.requests.filter { if case .end = $0 { true } else { false } }
                }
                func join() async throws -> Call.ID {
                    let call = try await box.bridge.calls.dial("2")
                    try await registration.update(call, .active)
                    try await say("AT+CHLD=3", ears.headset, expecting: "OK")
                    #expect(try await states(box) == [.active, .active])
                    return call
                }
                let first = try await box.startCall(registration)
                let second = try await join()
                try await box.bridge.calls.hangup(second)
                #expect(ended() == [.end(second, "localHangUp")])
                #expect(try await states(box) == [.active])
                let third = try await join()
                try await say("AT+CHUP", ears.headset, expecting: "OK")
                #expect(ended().dropFirst() == [.end(first, "localHangUp"), .end(third, "localHangUp")])
                #expect(try await states(box).isEmpty)
            }
        }

        @Test func `Swap and conference without two calls are refused, on the command line as well`() async throws {
            try await Box.run { box in
                let registration = try await box.register([.hold])
                for _ in 0..<2 {
                    for verb in ["swap", "conference"] {
                        let (text, status) = try await Program(box.address)(verb)
                        #expect(status == 1 && text.contains("no active call with a held one beside it"), "\(text)")
                    }
                    if try await states(box).isEmpty { _ = try await box.startCall(registration) }
                }
                let second = try await registration.reportIncoming(number: "2")
                try await box.bridge.calls.answer(second)
                // Without the capability the application gets one request for each call.
                let (text, status) = try await Program(box.address)("swap", "--json")
                #expect(status == 0 && text.contains("active"), "\(text)")
                #expect(try await states(box) == [.active, .held])
                let (refused, code) = try await Program(box.address)("conference")
                #expect(code == 1 && refused.contains("did not register this capability"), "\(refused)")
            }
        }

        @Test func `S2.25 AT+CHLD=2 gets ERROR when the active call cannot be held, otherwise OK`() async throws {
            try await Box.run { box in
                let ears = try await box.connect(Box.first)
                let registration = try await box.register([.hold, .dtmf])
                let call = try await registration.reportIncoming(number: "1", capabilities: [.dtmf, .swap])
                // A call has at most the capabilities of its application.
                #expect(try await box.bridge.calls.list().map(\.capabilities) == [[.dtmf]])
                try await box.bridge.calls.answer(call)
                try await say("AT+CHLD=2", ears.headset, expecting: "ERROR")
                guard case .failed(let error) = await box.bridge.calls.hold(call) else {
                    Issue.record("it was held")
                    return
                }
                #expect(error.code == .notSupported)
                #expect(try await states(box) == [.active])
                #expect(box.telephone.requests.allSatisfy { if case .held = $0 { false } else { true } })
                let path = try #require(box.daemon.calls.calls.first?.path)
                #expect(await box.error(path, "org.btcall.Call1", "SetHeld", [.bool(true)]) != nil)
                try await registration.update(call, .ended)
                let free = try await registration.reportOutgoing(number: "2")
                try await registration.update(free, .active)
                #expect(try await box.bridge.calls.list().map(\.capabilities) == [[.hold, .dtmf]])
                try await say("AT+CHLD=2", ears.headset, expecting: "OK")
                #expect(try await states(box) == [.held])
            }
        }

        @Test func `S2.29 An impossible request fails with a typed error`() async throws {
            try await Box.run { box in
                let calls = box.bridge.calls
                do throws(DialFailure) {
                    _ = try await calls.dial("1")
                    Issue.record("nobody can dial")
                } catch {
                    #expect(error.cause == .noProvider)
                }
                let registration = try await box.register()
                let call = try await registration.reportIncoming(number: "1")
                func code(_ body: @ControlPlane () async throws(BridgeError) -> Void) async -> BridgeError.Code? {
                    await refusal(body)?.code
                }
                #expect(
                    await code { () throws(BridgeError) in try await calls.answer(call, audio: nil, video: .sendOnly) }
                        == .notSupported)
                #expect(
                    await code { () throws(BridgeError) in try await calls.setMedia(of: call, audio: .off) }
                        == .wrongState)
                #expect(
                    await code { () throws(BridgeError) in try await calls.setLocalVideoEnabled(call, false) }
                        == .wrongState)
                #expect(
                    await code { () throws(BridgeError) in try await calls.answerMediaChange(of: call, true) }
                        == .wrongState)
                try await calls.answer(call)
                #expect(
                    await code { () throws(BridgeError) in try await calls.setMedia(of: call, video: .sendReceive) }
                        == .notSupported)
                let path = try #require(box.daemon.calls.calls.first?.path)
                for bad in [Value.string("both"), .uint32(1)] {
                    #expect(
                        await box.error(path, "org.btcall.Call1", "SetMedia", [.vardict(["audio": bad])])
                            == "org.btcall.Error.InvalidArgument")
                }
                box.telephone.manner = .refusing("no")
                #expect(
                    await code { () throws(BridgeError) in try await calls.setMedia(of: call, audio: .sendOnly) }
                        == .providerFailed)
                #expect(try await calls.list().map(\.media) == [CallMedia()])
            }
        }

        // MARK: Results of actions

        @Test func `S4.17 Hold and resume succeed, fail, or are canceled when the call ends meanwhile`() async throws {
            try await Box.run { box in
                let registration = try await box.register([.hold])
                let calls = box.bridge.calls
                for held in [true, false] {
                    let call = try await box.startCall(registration)
                    if !held { #expect(await calls.hold(call) == .done) }
                    @ControlPlane func act() async -> CallActionResult {
                        held ? await calls.hold(call) : await calls.resume(call)
                    }
                    box.telephone.manner = .refusing("the line is down")
                    guard case .failed(let error) = await act() else {
                        Issue.record("it did not fail")
                        return
                    }
                    #expect(error.code == .providerFailed && error.message.contains("the line is down"))
                    #expect(try await states(box) == [held ? .active : .held])
                    // The application gets the request and does not answer, and the far end hangs up.
                    box.telephone.manner = .silent
                    let asked = box.telephone.requests.count
                    async let result = act()
                    try await eventually("the application is asked") { box.telephone.requests.count > asked }
                    try await registration.update(call, .ended, reason: .remoteHangUp)
                    // The application answers too late, and the next request finds no call.
                    box.telephone.manner = .willing
                    #expect(await result == .canceled)
                    #expect(await act() == .canceled)
                    #expect(try await states(box).isEmpty)
                }
            }
        }

        @Test func `S4.18 A hung up call ends before its object is removed`() async throws {
            try await Box.run { box in
                let registration = try await box.register()
                let call = try await box.startCall(registration)
                let path = try #require(box.daemon.calls.calls.first?.path)
                var seen: [String] = []
                let watcher = try BusConnection(box.address)
                let subscriptions = ["StateChanged", "CallRemoved"].map { (member: String) in
                    watcher.subscribe(sender: BTCallName.bus, path: nil, member: member) { signal in
                        seen.append("\(member) \(signal.arguments.last?.stringValue ?? "")")
                    }
                }
                _ = try await watcher.owner(of: BTCallName.bus)
                try await box.bridge.calls.hangup(call)
                #expect(try await box.bridge.calls.list().isEmpty)
                try await eventually("both are signalled") { seen.count >= 2 }
                #expect(seen == ["StateChanged localHangUp", "CallRemoved localHangUp"])
                #expect(
                    await box.error(path, "org.btcall.Call1", "End") == "org.freedesktop.DBus.Error.UnknownObject")
                for subscription in subscriptions { subscription.cancel() }
                watcher.close()
            }
        }
    }
}
