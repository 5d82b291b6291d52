import BluetoothTypes
import ControlLoop
import DBus
import Foundation
import TestSupport
import Testing

@Suite @ControlPlane
struct BusFootprintTests {
    @Test func `thousands of calls, one after the other and in flight, need one thread`() async throws {
        try await PrivateBus.with { bus in
            let executable = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
            let path = executable.split(separator: "/", omittingEmptySubsequences: false).dropLast()
                .joined(separator: "/")
            let probe = try ChildProcess([path + "/ControlLoopProbe", "bus", bus.address.description])
            #expect(await probe.status() == 0)
            let report = probe.lines.elements
            #expect(report.contains("threads=1"), "\(report)")
            #expect(!report.contains { $0.hasPrefix("error=") }, "\(report)")
        }
    }
}
