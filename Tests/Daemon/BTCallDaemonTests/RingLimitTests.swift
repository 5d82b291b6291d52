import BTCall
import BTCallDaemon
import BTCallSimulator
import Configuration
import ControlLoop
import TestSupport
import Testing

extension DaemonTests {
    /// `[calls] ringSeconds`: an incoming call that nobody answers ends as missed.
    @Suite @ControlPlane struct RingLimitTests {
        @Test func `a call that rings too long ends at its application, as missed`() async throws {
            try await Box.run(
                configure: { $0.ringSeconds = 1 },
                body: { box in
                    let registration = try await box.register()
                    let ears = try await box.connect(Box.first)
                    let call = try await registration.reportIncoming(number: "5550100", name: "Door")
                    try await ears.hear(.ring)
                    try await eventually("the call has ended") { try await box.bridge.calls.list().isEmpty }
                    #expect(box.telephone.requests.contains(.end(call, "missed")))
                    let entry = try #require(try await box.bridge.calls.log().first)
                    #expect(entry.reason == "missed" && entry.isMissed && entry.answeredMs == nil)
                    let shown = try await Program(box.address)("log")
                    #expect(shown.text.contains("missed"), "\(shown.text)")
                    #expect(box.log.containing("notice", "nobody answered for 1 s", "ringSeconds").count == 1)
                })
        }

        @Test func `an answered call continues, and a waiting one is missed`() async throws {
            try await Box.run(
                configure: { $0.ringSeconds = 3 },
                body: { box in
                    let registration = try await box.register([.hold])
                    let first = try await registration.reportIncoming(number: "1", name: "First")
                    try await box.bridge.calls.answer(first)
                    let second = try await registration.reportIncoming(number: "2", name: "Second")
                    #expect(try await box.bridge.calls.list().last?.state == .waiting)
                    try await eventually("the waiting call is missed") {
                        box.telephone.requests.contains(.end(second, "missed"))
                    }
                    try await eventually("one call is left") { try await box.bridge.calls.list().map(\.id) == [first] }
                    #expect(try await box.bridge.calls.list().first?.state == .active)
                })
        }

        @Test func `the limit can be set at run time, counts from the first ring, and 0 disables it`() async throws {
            try await Box.run(
                configure: { $0.ringSeconds = 0 },
                body: { box in
                    #expect(Box.configuration.ringSeconds == 120)
                    let registration = try await box.register()
                    let call = try await registration.reportIncoming(number: "5550100", name: "Door")
                    await ControlLoop.shared.sleep(for: .milliseconds(1_100))
                    #expect(try await box.bridge.calls.list().first?.state == .ringing)
                    try await box.bridge.setSetting("calls.ringSeconds", to: "1")
                    try await eventually("the call has ended at once", within: .milliseconds(900)) {
                        box.telephone.requests.contains(.end(call, "missed"))
                    }
                })
        }

        @Test func `an application that refuses keeps its call, and may end it`() async throws {
            try await Box.run(
                configure: { $0.ringSeconds = 1 },
                body: { box in
                    let registration = try await box.register()
                    box.telephone.manner = .refusing("not now")
                    let call = try await registration.reportIncoming(number: "5550100", name: "Door")
                    try await eventually("the application is asked") {
                        box.telephone.requests.contains(.end(call, "missed"))
                    }
                    #expect(try await box.bridge.calls.list().first?.state == .ringing)
                    try await registration.update(call, .ended)
                    #expect(try await box.bridge.calls.list().isEmpty)
                })
        }
    }
}
