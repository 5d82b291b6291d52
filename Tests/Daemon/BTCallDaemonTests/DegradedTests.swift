import AudioEngine
import BTCall
import BTCallAPI
import BTCallDaemon
import Configuration
import ControlLoop
import DBus
import TestSupport
import Testing

/// Whether this process may have real-time priority at all.
private let mayBeRealtime: Bool = {
    var configuration = AudioEngineConfiguration()
    configuration.locksMemory = false
    return (try? AudioEngine(configuration))?.isRealtime ?? false
}()

extension DaemonTests {
    @Suite @ControlPlane struct DegradedTests {
        private func statistics(_ box: Box) async throws -> AudioStatistics {
            let reply = try await box.client.call(
                BTCallName.bus, BTCallPath.audio, "org.freedesktop.DBus.Properties", "Get",
                [.string(BTCallName.Interface.audio), .string(BTCallName.Audio.statistics)])
            return try AudioStatistics(Fields(#require(reply.first).unwrapped, of: "Statistics"))
        }

        @Test func `Without real-time priority the log has one line with the remedy, and the bus shows it`()
            async throws
        {
            try await Box.run(
                environment: { $0.engine.realtimePriority = 0 },
                body: { box in
                    try await box.prefer(.earpiece)
                    let registration = try await box.register()
                    _ = try await box.startCall(registration)
                    try await box.playing("earpiece")
                    let statistics = try await statistics(box)
                    #expect(!statistics.isRealtime && statistics.cardQueueMs == 100)
                    let lines = box.log.containing("real-time priority")
                    #expect(lines.count == 1)
                    for part in ["warning: ", "LimitRTPRIO=20", "AmbientCapabilities=CAP_SYS_NICE", "0.1 seconds"] {
                        #expect(lines.first?.contains(part) == true, "\(part) in \(lines)")
                    }
                })
        }

        @Test(.enabled(if: mayBeRealtime, "this process may not have real-time priority"))
        func `With real-time priority nothing is logged`() async throws {
            try await Box.run { box in
                let statistics = try await statistics(box)
                #expect(statistics.isRealtime && statistics.cardQueueMs == 50)
                #expect(box.log.containing("real-time priority") == [])
            }
        }
    }
}
