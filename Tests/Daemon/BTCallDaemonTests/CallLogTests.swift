import BTCall
import BTCallAPI
import BTCallBench
import BTCallDaemon
import CallControl
import Configuration
import ControlLoop
import Foundation
import Glibc
import Routing
import TestSupport
import Testing

extension DaemonTests {
    @Suite @ControlPlane struct CallLogTests {
        private let directory = FileManager.default.temporaryDirectory.appending(path: "btcall-\(UUID().uuidString)")

        private func remove() { try? FileManager.default.removeItem(at: directory) }  // It may stay there.

        @Test func `S2.24 The log has caller, times, end reason and device of calls, refused ones included`()
            async throws
        {
            try await Box.run { box in
                try await box.prefer(.none)
                let registration = try await box.register([.hold])
                let out = try await box.startCall(registration)
                try await box.playing("earpiece")
                try await registration.update(out, .ended)
                let rejected = try await registration.reportIncoming(number: "1", name: "Alice")
                try await box.bridge.calls.hangup(rejected)
                let missed = try await registration.reportIncoming(number: "2")
                try await registration.update(missed, .ended, reason: .missed)
                try await box.bridge.calls.setDoNotDisturb(true)
                _ = await refusal { () throws(BridgeError) in
                    _ = try await registration.reportIncoming(number: "3", name: "Bob")
                }
                let log = try await box.bridge.calls.log()
                #expect(log.map(\.number) == ["3", "2", "1", "+4930123456"])
                #expect(log.map(\.name) == ["Bob", nil, "Alice", nil])
                #expect(log.map(\.reason) == ["filtered", "missed", "rejected", "remoteHangUp"])
                #expect(log.map(\.isMissed) == [true, true, false, false])
                #expect(log.map(\.direction) == [.incoming, .incoming, .incoming, .outgoing])
                #expect(log.map(\.id) == [nil, missed, rejected, out])
                #expect(log.map(\.device) == [nil, nil, nil, "earpiece"])
                #expect(log.allSatisfy { $0.provider == "test" && $0.beganMs <= $0.endedMs })
                let answered = try #require(log.last?.answeredMs)
                #expect(log.last?.durationMs == log.last.map { $0.endedMs - answered })
                #expect(log.dropLast().allSatisfy { $0.answeredMs == nil && $0.durationMs == 0 })
                #expect(try await box.bridge.calls.log(maximum: 1).map(\.number) == ["3"])
                #expect(try await box.bridge.calls.log(maximum: 0).isEmpty)
                let shown = try await Program(box.address)("log", "--missed")
                #expect(shown.status == 0 && shown.text.contains("filtered") && !shown.text.contains("Alice"))
            }
        }

        @Test func `The log is bounded and drops the oldest calls`() async throws {
            try await Box.run { box in
                let owner = Switchboard()
                box.daemon.calls.register(owner)
                for number in 0..<130 {
                    let record = try box.daemon.calls.reportIncoming(
                        from: owner, number: "\(number)", options: ReportOptions())
                    try owner.report("ended", of: record, to: box.daemon.calls)
                }
                let log = try await box.bridge.calls.log()
                #expect(log.compactMap { $0.number.flatMap { Int($0) } } == (30..<130).reversed())
            }
        }

        @Test(arguments: [true, false])
        func `The log outlives a restart when calls are recorded, with numbers when those are recorded`(
            _ withNumbers: Bool
        ) async throws {
            defer { remove() }
            let state = directory.appending(path: "state").path()
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
            let record = directory.appending(path: "record.json").path()
            try await Box.run(
                configure: {
                    $0.stateDirectory = state
                    $0.callRecord = record
                    $0.recordsNumbers = withNumbers
                },
                body: { box in
                    let registration = try await box.register()
                    let call = try await registration.reportIncoming(number: "5550100", name: "50% of\tÄnne \n")
                    try await registration.update(call, .ended)
                    let before = try #require(try await box.bridge.calls.log().first)
                    #expect(before.number == "5550100" && before.name == "50% of\tÄnne \n")
                    try await box.restartDaemon()
                    let after = try #require(try await box.bridge.calls.log().first)
                    #expect(after.number == (withNumbers ? "5550100" : nil))
                    #expect(after.name == (withNumbers ? "50% of\tÄnne \n" : nil))
                    #expect(after.id == before.id && after.beganMs == before.beganMs)
                    // Lines damaged by editing or a power cut are lost, all others kept.
                    let file = state + "/calls.log"
                    let text = try String(contentsOfFile: file, encoding: .utf8)
                    let broken = "rubbish\n\(text.dropLast(40))\n\u{0}\u{1}\n9\t\t1\tincoming\tx\t\t\t\t\t\n\(text)"
                    try broken.write(toFile: file, atomically: true, encoding: .utf8)
                    try await box.restartDaemon()
                    #expect(try await box.bridge.calls.log().map(\.id) == [before.id])
                    #expect(!box.log.containing("warning", "calls.log", "not understood").isEmpty)
                })
        }

        @Test func `When calls are not recorded nothing about them is written`() async throws {
            defer { remove() }
            let state = directory.path()
            try await Box.run(
                configure: { $0.stateDirectory = state },
                body: { box in
                    let registration = try await box.register()
                    let call = try await registration.reportIncoming(number: "5550100")
                    try await registration.update(call, .ended)
                    #expect(try await box.bridge.calls.log().count == 1)
                    #expect(access(state + "/calls.log", F_OK) != 0)
                    try await box.restartDaemon()
                    #expect(try await box.bridge.calls.log().isEmpty)
                })
        }
    }
}
