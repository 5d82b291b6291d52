import AudioPaths
import BTCall
import BTCallBench
import BTCallDaemon
import BTCallSimulator
import BluetoothTypes
import CallExchange
import Configuration
import ControlLoop
import Routing
import TestSupport
import Testing

extension DaemonTests {
    /// Calls under the names of telephony kits, through the library alone.
    @Suite @ControlPlane struct LibraryCallTests {
        /// The remaining values of a sequence.
        private func rest<Element>(of values: inout CallValues<Element>.AsyncIterator) async -> [Element] {
            var all: [Element] = []
            while let value = await values.next() { all.append(value) }
            return all
        }

        // MARK: The way to a call

        @Test func `S2.1 library: the five steps, view, quality, permission, make and answer, on a headset`()
            async throws
        {
            try await Box.run(
                configure: {
                    $0.timeouts.quality = .milliseconds(100)
                    $0.timeouts.qualityWindow = .seconds(1)
                },
                body: { box in
                    // The source of what a view shows.
                    var events = await box.bridge.events().makeAsyncIterator()
                    #expect(await events.next() == .daemonAppeared)
                    // The best quality of the headset is used without a request.
                    try await box.prefer(.bluetooth)
                    let ears = try await box.connect(Box.first, codecs: [.cvsd, .mSBC])
                    let headset = try #require(Choice("bluetooth:\(Box.first)"))
                    #expect(try await box.bridge.audio.microphoneAccess() == .allowed)

                    let registration = try await box.register([.dial])
                    let made = try await box.bridge.calls.createCall(
                        toAddress: "sip:door@example.org", withAudio: .sendReceive)
                    try await registration.update(made.id, .alerting)
                    try await registration.update(made.id, .active)
                    try await box.route(headset)
                    try await box.playing("headset 1")
                    try await box.farEndHears(true)
                    #expect(try await box.bridge.status().codec == "mSBC")
                    try await eventually("the link is good") {
                        let call = try await made.current()
                        return call.link?.device == headset && (call.quality?.score ?? 0) >= 90
                    }
                    try await made.hangup()

                    let incoming = try await registration.reportIncoming(number: "5550100", name: "Gate")
                    try await ears.hear(.ring)
                    try await box.bridge.calls[incoming].answer(withAudio: .sendReceive, andVideo: .off)
                    try await box.route(headset)
                    _ = box.telephone.exchange.takeRecorded()
                    try await box.farEndHears(true)
                    ears.headset.press(.hangUp)

                    var shown: [String] = []
                    while let event = await events.next() {
                        switch event {
                        case .callAdded(let call): shown.append("\(call.direction)")
                        case .callStateChanged(_, let state, _) where shown.last != "\(state)": shown.append("\(state)")
                        case .callRemoved(_, let reason): shown.append("over: \(reason ?? "")")
                        default: break
                        }
                        if case .callRemoved(incoming, _) = event { break }
                    }
                    #expect(
                        shown == [
                            "outgoing", "dialing", "alerting", "active", "ended", "over: localHangUp",
                            "incoming", "active", "ended", "over: localHangUp",
                        ])
                    #expect(try await box.bridge.calls.list().isEmpty)
                })
        }

        /// One course of a call: the steps, and what a kit's view shows.
        private struct Course: Sendable {
            let name: String
            let isIncoming: Bool
            let act: @ControlPlane (ProviderRegistration, OngoingCall) async throws -> Void
            let statuses: [CallStatus]
        }

        private nonisolated static func failing(_ reason: Call.EndReason, _ status: CallStatus) -> Course {
            Course(
                name: reason.rawValue, isIncoming: false,
                act: { registration, call in try await registration.update(call.id, .ended, reason: reason) },
                statuses: [.setup, status])
        }

        private nonisolated static let courses: [Course] = [
            Course(
                name: "answered here", isIncoming: true,
                act: { registration, call in
                    try await call.answer()
                    try await registration.update(call.id, .ended)
                }, statuses: [.ringing, .inCall, .ended]),
            Course(
                name: "rejected", isIncoming: true, act: { _, call in try await call.hangup() },
                statuses: [.ringing, .ended]),
            Course(
                name: "missed", isIncoming: true,
                act: { registration, call in try await registration.update(call.id, .ended, reason: .missed) },
                statuses: [.ringing, .ended]),
            Course(
                name: "answered there, held and taken up again", isIncoming: false,
                act: { registration, call in
                    try await registration.update(call.id, .alerting)
                    try await registration.update(call.id, .active)
                    #expect(await call.hold() == .done)
                    #expect(await call.resume() == .done)
                    try await call.hangup()
                }, statuses: [.setup, .alerting, .inCall, .ended]),
            Course(
                name: "not answered there", isIncoming: false,
                act: { registration, call in
                    try await registration.update(call.id, .alerting)
                    try await registration.update(call.id, .ended, reason: .timedOut)
                }, statuses: [.setup, .alerting, .timedOut]),
            failing(.busy, .busy), failing(.notFound, .notFound), failing(.error, .error),
            Course(
                name: "its application goes", isIncoming: false,
                act: { registration, _ in try await registration.unregister() }, statuses: [.setup, .error]),
        ]

        @Test(arguments: courses.indices)
        func `S2.12 library: the states of a call in the words of the kits`(_ index: Int) async throws {
            let course = Self.courses[index]
            try await Box.run(
                configure: { $0.ring.tones = nil },
                body: { box in
                    let registration = try await box.register([.hold])
                    let id =
                        course.isIncoming
                        ? try await registration.reportIncoming(number: "1")
                        : try await registration.reportOutgoing(number: "1")
                    let call = box.bridge.calls[id]
                    var statuses = await call.statuses().makeAsyncIterator()
                    var seen: [CallStatus] = []
                    if let present = await statuses.next() { seen.append(present) }
                    #expect(try await call.current().status == seen.first)
                    try await course.act(registration, call)
                    seen += await rest(of: &statuses)
                    #expect(seen == course.statuses, "\(course.name)")
                })
        }

        @Test func `S2.12 library: an answered call is mediaPending until a device carries its audio`() async throws {
            try await Box.run { box in
                try await box.prefer(.none)
                box.simulation.busyCards = [.earpiece, .speakerphone]
                let registration = try await box.register()
                let call = box.bridge.calls[try await box.startCall(registration)]
                #expect(try await call.current().status == .mediaPending)
                box.simulation.busyCards = []
                try await eventually("something carries it") { try await call.current().status == .inCall }
                // A call without audio waits for none.
                try await call.setMedia(audio: .off)
                #expect(try await call.current().status == .inCall)
            }
        }

        @Test func `S2.12 library: mediaPending is an event, also when the device of a call is lost`() async throws {
            try await Box.run { box in
                try await box.prefer(.none)
                box.simulation.busyCards = [.earpiece, .speakerphone]
                let registration = try await box.register()
                let call = box.bridge.calls[try await registration.reportOutgoing(number: "1")]
                var statuses = await call.statuses().makeAsyncIterator()
                #expect(await statuses.next() == .setup)
                try await registration.update(call.id, .active)
                #expect(await statuses.next() == .mediaPending)
                // The headset takes it, and nothing else can when the headset goes.
                _ = try await box.connect(Box.first)
                #expect(await statuses.next() == .inCall)
                box.bluez.disconnect(Box.first)
                #expect(await statuses.next() == .mediaPending)
                box.simulation.busyCards = []
                #expect(await statuses.next() == .inCall)
                try await registration.update(call.id, .ended)
                #expect(await rest(of: &statuses) == [.ended])
            }
        }

        @Test func `S2.31 library: an incoming call is announced once, also to a program that starts while it rings`()
            async throws
        {
            try await Box.run { box in
                let registration = try await box.register()
                let first = try await registration.reportIncoming(number: "5550100", name: "Gate")
                var events = await box.bridge.events().makeAsyncIterator()
                var announced: [Call] = []
                while announced.isEmpty, let event = await events.next() {
                    if case .incomingCall(let call) = event { announced.append(call) }
                }
                try await registration.update(first, .active)
                let second = try await registration.reportIncoming(number: "sip:bob@example.org")
                let out = try await registration.reportOutgoing(number: "5550101")
                try await registration.update(out, .ended)
                while let event = await events.next() {
                    if case .incomingCall(let call) = event { announced.append(call) }
                    if case .callRemoved(out, _) = event { break }
                }
                #expect(announced.map(\.id) == [first, second])
                #expect(announced.map(\.state) == [.ringing, .waiting])
                #expect(announced.map(\.handle) == ["tel:5550100", "sip:bob@example.org"])
                #expect(announced.first?.name == "Gate" && announced.first?.number == "5550100")
            }
        }

        @Test func `S4.13 library: placeCall, createCall and dial start a call in the same way`() async throws {
            try await Box.run { box in
                let registration = try await box.register([.dial, .video])
                let calls = box.bridge.calls
                let ways: [@ControlPlane () async throws -> OngoingCall] = [
                    { try await calls.placeCall(to: "4711") },
                    { try await calls.createCall(toAddress: "4711", withAudio: .sendReceive) },
                    { calls[try await calls.dial("4711")] },
                ]
                for (index, way) in ways.enumerated() {
                    let call = try await way()
                    #expect(box.telephone.requests == Array(repeating: .start("4711"), count: index + 1))
                    #expect(box.telephone.asked.last == CallMedia())
                    let now = try await call.current()
                    #expect(now.direction == .outgoing && now.state == .dialing && now.number == "4711")
                    #expect(try await calls.list() == [now])
                    try await registration.update(call.id, .ended)
                }
                let wanted = CallMedia(audio: .receiveOnly, video: .sendReceive)
                _ = try await calls.createCall(toAddress: "4711", withAudio: wanted.audio, video: wanted.video)
                #expect(box.telephone.asked.last == wanted)
            }
        }

        // MARK: One call

        @Test func `S2.7 S2.9 library: requests for a named call reach its application`() async throws {
            try await Box.run { box in
                let registration = try await box.register([.hold, .dtmf, .video])
                let id = try await registration.reportIncoming(number: "1", media: CallMedia(video: .sendReceive))
                let call = box.bridge.calls[id]
                try await call.answer(withAudio: .sendReceive, andVideo: .receiveOnly)
                let media = CallMedia(video: .receiveOnly)
                #expect(box.telephone.requests.first == .answer(id) && box.telephone.asked == [media])
                try await call.enableLocalAudio(false)
                try await call.enableLocalVideo(false)
                let off = try await call.current()
                #expect(!off.isLocalAudioEnabled && !off.isLocalVideoEnabled && off.media == media)
                try await eventually("the application is notified of the camera") {
                    box.telephone.requests.contains(.media(id, media, camera: false))
                }
                #expect(await call.hold() == .done)
                #expect(try await call.current().state == .held)
                #expect(await call.resume() == .done)
                try await call.sendDTMF(tones: "5#")
                try await call.setMedia(video: .off)
                let now = try await call.current()
                // Local audio is unchanged by hold.
                #expect(now.state == .active && !now.isLocalAudioEnabled && now.media == CallMedia())
                try await call.enableLocalAudio(true)
                #expect(try await call.current().isLocalAudioEnabled)
                try await call.hangup()
                let asked = box.telephone.requests.filter { if case .audio = $0 { false } else { true } }
                for wanted: Telephone.Request in [
                    .held(id, true), .held(id, false), .tones("5#"), .end(id, "localHangUp"),
                ] {
                    #expect(asked.count { $0 == wanted } == 1, "\(wanted)")
                }
                #expect(await call.hold() == .canceled)
            }
        }

        @Test
        func `S4.15 library: state, quality and mute of one call start with the present value and end with the call`()
            async throws
        {
            try await Box.run(
                configure: { $0.timeouts.quality = .milliseconds(20) },
                body: { box in
                    try await box.prefer(.none)
                    let registration = try await box.register([.hold])
                    let other = try await registration.reportIncoming(number: "1")
                    let call = box.bridge.calls[try await registration.reportOutgoing(number: "2")]
                    var states = await call.states().makeAsyncIterator()
                    var scores = await call.qualityScores().makeAsyncIterator()
                    var mutes = await call.mutes().makeAsyncIterator()
                    #expect(await states.next() == .dialing)
                    let score = await scores.next()
                    #expect(score == .some(nil))
                    #expect(await mutes.next() == .off)
                    try await registration.update(call.id, .active)
                    try await box.bridge.calls[other].hangup()
                    #expect(await states.next() == .active)
                    guard case .some(.some(let first)) = await scores.next() else {
                        Issue.record("there is no score")
                        return
                    }
                    #expect((0...100).contains(first))
                    try await call.muted(.on)
                    #expect(await mutes.next() == .on)
                    // A late subscriber gets the present values as well.
                    var late = await call.mutes().makeAsyncIterator()
                    #expect(await late.next() == .on)
                    #expect(await call.hold() == .done)
                    try await registration.update(call.id, .ended)
                    #expect(await rest(of: &states) == [.held, .ended])
                    #expect(await rest(of: &scores).allSatisfy { $0.map { (0...100).contains($0) } ?? true })
                    #expect(await rest(of: &mutes).allSatisfy { $0 == .off })
                    // A call that has ended has no states.
                    for await state in await call.states() { Issue.record("\(state)") }
                })
        }

        @Test func `S4.16 library: muted on and off, for all calls, and by the headset's own volume 0`() async throws {
            try await Box.run { box in
                try await box.prefer(.bluetooth)
                let ears = try await box.connect(Box.first)
                let registration = try await box.register([.mute])
                let call = box.bridge.calls[try await box.startCall(registration)]
                try await box.route(try #require(Choice("bluetooth:\(Box.first)")))
                try await box.farEndHears(true)
                #expect(try await call.muted == .off)
                try await call.muted(.on)
                #expect(try await call.muted == .on)
                #expect(try await box.bridge.calls.isMuted())
                #expect(try await box.bridge.calls.list().map(\.isMuted) == [true])
                try await box.farEndHears(false)
                let told = Telephone.Request.muted(call.id, true)
                try await eventually("the application is notified") { box.telephone.requests.contains(told) }
                try await box.bridge.calls.setMuted(false)
                #expect(try await call.muted == .off)
                try await box.farEndHears(true)
                ears.headset.setMicrophoneVolume(0)
                try await eventually("the headset mutes") { try await call.muted == .on }
                ears.headset.setMicrophoneVolume(9)
                try await eventually("and opens it") { try await call.muted == .off }
                try await box.farEndHears(true)
                try await call.hangup()
                let late = await BTCallDaemonTests.refusal { () throws(BridgeError) in try await call.muted(.on) }
                #expect(late?.code == .noSuchCall)
            }
        }

        @Test func `S4.17 library: hold and resume of a call succeed, fail, or are canceled with its end`() async throws
        {
            try await Box.run { box in
                let registration = try await box.register([.hold])
                let call = box.bridge.calls[try await box.startCall(registration)]
                #expect(await call.hold() == .done)
                box.telephone.manner = .refusing("the line is down")
                guard case .failed(let error) = await call.resume() else {
                    Issue.record("it did not fail")
                    return
                }
                #expect(error.code == .providerFailed && error.message.contains("the line is down"))
                #expect(try await call.current().state == .held)
                box.telephone.manner = .silent
                let asked = box.telephone.requests.count
                async let result = call.resume()
                try await eventually("the application is asked") { box.telephone.requests.count > asked }
                try await registration.update(call.id, .ended)
                box.telephone.manner = .willing
                #expect(await result == .canceled)
            }
        }

        @Test func `S4.18 library: hangup ends a call, then removes it`() async throws {
            try await Box.run { box in
                let registration = try await box.register()
                let call = box.bridge.calls[try await box.startCall(registration)]
                var events = await call.events().makeAsyncIterator()
                guard case .callAdded = await events.next() else {
                    Issue.record("a stream begins with the call")
                    return
                }
                try await call.hangup()
                #expect(try await box.bridge.calls.list().isEmpty)
                let gone = await BTCallDaemonTests.refusal { () throws(BridgeError) in _ = try await call.current() }
                #expect(gone?.code == .noSuchCall)
                var ends: [BridgeEvent] = []
                while let event = await events.next() {
                    switch event {
                    case .callStateChanged, .callRemoved: ends.append(event)
                    default: break
                    }
                }
                #expect(
                    ends == [
                        .callStateChanged(call.id, .ended, reason: "localHangUp"),
                        .callRemoved(call.id, reason: "localHangUp"),
                    ])
            }
        }
    }
}
