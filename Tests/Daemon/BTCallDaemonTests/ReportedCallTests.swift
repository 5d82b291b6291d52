import BTCall
import BTCallDaemon
import BTCallSimulator
import ControlLoop
import TestSupport
import Testing

extension DaemonTests {
    /// `btcall call report` and `btcall call update`.
    @Suite @ControlPlane struct ReportedCallTests {
        @Test func `A reported call lives as long as its program, and another program updates it`() async throws {
            try await Box.run { box in
                let btcall = try Program(box.address)
                let report = try btcall.start("call", "report", "incoming", "5550100", "--name", "Gate", "--json")
                try await eventually("there is a call") { report.lines.count == 1 }
                let call = try #require(try await box.bridge.calls.list().first)
                #expect(call.party == "5550100 Gate script ringing")
                #expect(try await btcall("answer").status == 0)
                #expect(try await btcall("dtmf", "7").status == 0)
                #expect(try await btcall("call", "update", "held").text == "held: Gate (5550100)\n")
                #expect(try await btcall("call", "update", "active").status == 0)
                #expect(try await btcall("call", "update", "ended", "--reason", "transferred").status == 0)
                #expect(try await report.status() == 0)
                #expect(
                    report.words == [
                        "reported", "answer", "state active", "dtmf 7", "state held", "state active",
                        "state ended transferred",
                    ])
                #expect(try await box.bridge.calls.list().isEmpty)
                let none = try await btcall("call", "update", "active")
                #expect(none.text == "btcall: there is no call\n" && none.status == 1)
            }
        }

        @Test func `A reported call ends with its program, and other programs' calls cannot be updated`() async throws {
            try await Box.run { box in
                let btcall = try Program(box.address)
                let report = try btcall.start("call", "report", "outgoing", "1", "--alerting")
                try await eventually("it rings there") {
                    try await box.bridge.calls.list().map(\.state) == [.alerting]
                }
                try await eventually("its id is printed") { report.lines.last == "state: alerting" }
                #expect(report.lines.first?.hasPrefix("call ") == true)
                report.terminate()
                #expect(try await report.status() == 0)
                #expect(report.lines.last == "state: ended (cancelled)")
                let registration = try await box.register()
                let call = try await box.startCall(registration)
                let refused = try await btcall("call", "update", "ended")
                #expect(
                    refused.text == """
                        btcall: +4930123456 is a call of test, which is no `btcall call report` of this user's: its \
                        application updates it

                        """)
                #expect(try await box.bridge.calls.list().map(\.id) == [call])
            }
        }
    }
}

extension Call {
    /// The fields that a test compares.
    fileprivate var party: String { "\(number ?? "") \(name ?? "") \(provider) \(state.rawValue)" }
}
