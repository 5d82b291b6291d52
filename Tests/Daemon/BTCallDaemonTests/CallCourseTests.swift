import BTCall
import BTCallAPI
import BTCallDaemon
import BTCallSimulator
import BluetoothTypes
import Configuration
import ControlLoop
import DBus
import Foundation
import TestSupport
import Testing

extension DaemonTests {
    /// Signals to clients and indicators of headsets during a call, from its report to its end.
    @Suite @ControlPlane struct CallCourseTests {
        @Test func `S2.21 A reported outgoing call shows callsetup 2 and 3, then call 1, with its reported start time`()
            async throws
        {
            try await Box.run { box in
                let ears = try await box.connect(Box.first)
                let registration = try await box.register()
                let call = try await registration.reportOutgoing(number: "4711")
                try await registration.update(call, .alerting)
                let before = WallClock.now.milliseconds
                let monotonic = ControlLoop.now.nanoseconds / 1_000_000
                let after = WallClock.now.milliseconds
                func isRight(_ started: Int64, ago: Int64) -> Bool {
                    (before - ago - 2...after - ago + 2).contains(started)
                }
                let late = await refusal { () throws(BridgeError) in
                    try await registration.update(call, .active, monotonicTimeMs: monotonic + 3_600_000)
                }
                #expect(late?.code == .invalidArgument)
                try await registration.update(call, .active, monotonicTimeMs: monotonic - 5000)
                try await ears.hear(.indicator("callsetup", 0))
                let shown: [VirtualHeadset.Event] = ears.events.filter {
                    if case .indicator(let name, _) = $0 { name.hasPrefix("call") } else { false }
                }
                #expect(
                    shown == [
                        .indicator("callsetup", 2), .indicator("callsetup", 3), .indicator("call", 1),
                        .indicator("callsetup", 0),
                    ])
                let started = try #require(try await box.bridge.calls.list().first?.startedAtMs)
                #expect(isRight(started, ago: 5000))
                try await registration.update(call, .ended)
                _ = try await registration.reportOutgoing(
                    number: "2", state: .active, monotonicTimeMs: monotonic - 7000)
                let again = try #require(try await box.bridge.calls.list().first)
                #expect(again.state == .active)
                let second = try #require(again.startedAtMs)
                #expect(isRight(second, ago: 7000))
            }
        }

        @Test func `S2.22 A reported incoming call shows callsetup 1, then RING with +CLIP`() async throws {
            try await Box.run { box in
                let headset = try await box.connect(Box.first).headset
                let registration = try await box.register([.hold, .dtmf])
                let before = headset.transcript.count
                _ = try await registration.reportIncoming(number: "+491701", name: "Gate", capabilities: [.dtmf])
                try await eventually("it rings") { headset.transcript.contains { $0.hasPrefix("< +CLIP") } }
                let lines = headset.transcript.dropFirst(before)
                #expect(lines.prefix(3).map { String($0.prefix(7)) } == ["< +CIEV", "< RING", "< +CLIP"])
                #expect(headset.indicators["callsetup"] == 1)
                #expect(lines.contains { $0.hasPrefix("< +CLIP: \"+491701\",145") })
                let call = try #require(try await box.bridge.calls.list().first)
                #expect(call.name == "Gate" && call.state == .ringing && call.capabilities == [.dtmf])
            }
        }

        /// One course of a call: the steps, the signals to clients, and the headset's indicators.
        private struct Course: Sendable {
            let name: String
            let act: @ControlPlane (Box, ProviderRegistration, Ears) async throws -> Void
            let states: [String]
            let indicators: [String]
        }

        private nonisolated static func outgoing(_ name: String, _ reason: Call.EndReason) -> Course {
            Course(
                name: name,
                act: { _, registration, _ in
                    let call = try await registration.reportOutgoing(number: "2")
                    try await registration.update(call, .ended, reason: reason)
                }, states: ["dialing", "ended \(reason.rawValue)"], indicators: ["callsetup 2", "callsetup 0"])
        }

        private nonisolated static let courses: [Course] = [
            Course(
                name: "answered by the headset",
                act: { box, registration, ears in
                    let call = try await registration.reportIncoming(number: "1")
                    try await ears.hear(.ring)
                    ears.headset.press(.answer)
                    try await ears.hear(.indicator("callsetup", 0))
                    try await registration.update(call, .ended)
                }, states: ["ringing", "active", "ended remoteHangUp"],
                indicators: ["callsetup 1", "call 1", "callsetup 0", "call 0"]),
            Course(
                name: "rejected by the headset",
                act: { _, registration, ears in
                    _ = try await registration.reportIncoming(number: "1")
                    try await ears.hear(.ring)
                    ears.headset.press(.hangUp)
                }, states: ["ringing", "ended rejected"], indicators: ["callsetup 1", "callsetup 0"]),
            Course(
                name: "missed",
                act: { _, registration, ears in
                    let call = try await registration.reportIncoming(number: "1")
                    try await registration.update(call, .ended, reason: .missed)
                }, states: ["ringing", "ended missed"], indicators: ["callsetup 1", "callsetup 0"]),
            Course(
                name: "dialled and answered",
                act: { box, registration, _ in
                    let call = try await box.bridge.calls.dial("2")
                    try await registration.update(call, .alerting)
                    try await registration.update(call, .active)
                    try await box.bridge.calls.hangup(call)
                }, states: ["dialing", "dialing", "alerting", "active", "ended localHangUp"],
                indicators: ["callsetup 2", "callsetup 3", "call 1", "callsetup 0", "call 0"]),
            Course(
                name: "held and taken up again",
                act: { box, registration, _ in
                    let call = try await box.startCall(registration)
                    _ = await box.bridge.calls.hold(call)
                    _ = await box.bridge.calls.resume(call)
                    try await registration.update(call, .ended)
                }, states: ["dialing", "active", "held", "active", "ended remoteHangUp"],
                indicators: ["callsetup 2", "call 1", "callsetup 0", "callheld 2", "callheld 0", "call 0"]),
            outgoing("busy", .busy), outgoing("not found", .notFound), outgoing("timed out", .timedOut),
            outgoing("failed", .error),
        ]

        @Test(arguments: courses.indices)
        func `S2.12 Clients see the states of a call, and the headset's indicators follow`(_ index: Int) async throws {
            let course = Self.courses[index]
            try await Box.run(
                configure: { $0.ring.tones = nil },
                body: { box in
                    let ears = try await box.connect(Box.first)
                    let registration = try await box.register([.hold, .dial])
                    var events = await box.bridge.events().makeAsyncIterator()
                    #expect(await events.next() == .daemonAppeared)
                    ears.forget()
                    try await course.act(box, registration, ears)
                    var states: [String] = []
                    collecting: while let event = await events.next() {
                        switch event {
                        case .callAdded(let call): states.append(call.state.rawValue)
                        case .callStateChanged(_, let state, let reason):
                            states.append(([state.rawValue] + (reason.map { [$0] } ?? [])).joined(separator: " "))
                        case .callRemoved: break collecting
                        default: break
                        }
                    }
                    #expect(states == course.states, "\(course.name)")
                    try await eventually("\(course.name): the headset is shown it") {
                        ears.events.compactMap { event -> String? in
                            guard case .indicator(let name, let value) = event, name.hasPrefix("call") else {
                                return nil
                            }
                            return "\(name) \(value)"
                        } == course.indicators
                    }
                })
        }

        @Test func `S2.12 The bus has the status of a call as property and signal, with the reason of an outcome`()
            async throws
        {
            try await Box.run { box in
                var heard: [String] = []
                let subscription = box.client.subscribe(
                    sender: BTCallName.bus, interface: BTCallName.Interface.call, member: BTCallName.Call.statusChanged
                ) { signal in
                    heard.append(signal.arguments.compactMap(\.stringValue).joined(separator: " "))
                }
                defer { subscription.cancel() }
                _ = try await box.client.owner(of: BTCallName.bus)
                func status(_ call: Call.ID) async throws -> String? {
                    let path = BTCallPath.call(call.description)
                    let reply = try await box.client.call(
                        BTCallName.bus, path, "org.freedesktop.DBus.Properties", "Get",
                        [.string(BTCallName.Interface.call), .string(BTCallName.Call.status)])
                    return reply.first?.unwrapped.stringValue
                }
                let registration = try await box.register([.hold])
                let first = try await registration.reportOutgoing(number: "1")
                #expect(try await status(first) == "setup")
                try await registration.update(first, .alerting)
                #expect(try await status(first) == "alerting")
                try await registration.update(first, .active)
                try await eventually("a device has it") { try await status(first) == "inCall" }
                try await registration.update(first, .held)
                #expect(try await status(first) == "inCall")
                try await registration.update(first, .ended)
                // The outcome comes with the failure tone, and once.
                let second = try await registration.reportOutgoing(number: "2")
                try await registration.update(second, .ended, reason: .busy)
                try await eventually("both have ended") { try await box.bridge.calls.list().isEmpty }
                #expect(
                    heard.map { $0.trimmingCharacters(in: .whitespaces) } == [
                        "alerting", "inCall", "ended remoteHangUp", "busy busy",
                    ])
            }
        }
    }
}
