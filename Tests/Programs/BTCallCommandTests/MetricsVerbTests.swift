import BTCall
import CommandTestSupport
import Testing

@testable import BTCallCommand

@Suite(.timeLimit(.minutes(1))) struct MetricsVerbTests {
    @Test func `metrics prints the text unchanged, and as an object for programs`() async throws {
        let bus = try PrivateBus()
        let daemon = try await FakeDaemon(bus.address)
        let text = "# TYPE btcall_calls gauge\n# HELP btcall_calls x\nbtcall_calls 1\n# EOF\n"
        await daemon.setMetrics(text)
        #expect(try await CommandRun.btcall("metrics", bus: bus).output == text)
        let object = try await CommandRun.btcall("metrics", "--json", bus: bus).object
        #expect(object["text"] as? String == text && object.count == 2)
        #expect((object["contentType"] as? String)?.hasPrefix("application/openmetrics-text; version=1.0.0") == true)
    }
}
