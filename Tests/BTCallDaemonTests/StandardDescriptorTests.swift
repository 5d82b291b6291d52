import BTCall
import BTCallDaemon
import BTCallSimulator
import CBTCall
import ControlLoop
import Foundation
import Glibc
import TestSupport
import Testing

extension DaemonTests {
    /// The real program: what it was started with, and what its process is told and lacks.
    @Suite(.timeLimit(.minutes(2))) @ControlPlane struct StandardDescriptorTests {
        @Test func `SIGHUP ends nothing, and the log says what to do instead`() async throws {
            let daemon = try await DaemonProcess()
            try await daemon.start()
            for count in 1...3 {
                daemon.signal(SIGHUP)
                try await eventually("it is said") {
                    daemon.errors.ranges(of: "SIGHUP: the configuration is not read again").count == count
                }
            }
            #expect(daemon.errors.contains("`systemctl restart btcalld`"))
            let bridge = try await daemon.bridge()
            #expect(try await bridge.status().state == .active)
            await bridge.close()
            try await daemon.stop()
        }
    }
}
