import AudioDSP
import BluetoothTypes
import Configuration
import ControlLoop
import Diagnostics
import Routing
import Telephony
import TestSupport
import Testing

@Suite @ControlPlane struct MetricsTextTests {
    @Test func `The text is OpenMetrics, whatever was counted`() throws {
        let metrics = Metrics()
        var present = Metrics.Present()
        present.version = "a\"b\\c\nd"
        present.process = .now(began: .now)
        let empty = try OpenMetricsReader(metrics.text(present))
        #expect(try empty.value("btcall_build", ["version": "a\"b\\c\nd"]) == 1)
        #expect(try empty.value("process_resident_memory_bytes") > 1_000_000)
        #expect(try empty.value("process_open_fds") >= 3)
        #expect(try empty.value("process_start_time_seconds") > 1_600_000_000)
        #expect(empty.families.count > 20)
        metrics.callEnded(.missed, after: .zero)
        metrics.callEnded(.remoteHangUp, after: .milliseconds(1500))
        metrics.callEnded(.remoteHangUp, after: .seconds(-1))
        metrics.linkSetUp(.mSBC, .timedOut)
        metrics.linkSetUp(.cvsd, nil)
        metrics.routeChanged(.linkSilent)
        metrics.hookEnded(.problem, isFailure: true)
        let text = try OpenMetricsReader(metrics.text(present))
        #expect(try text.value("btcall_calls_ended", ["reason": "remoteHangUp"]) == 2)
        #expect(try text.value("btcall_calls_ended", ["reason": "busy"]) == 0)
        #expect(try text.value("btcall_calls_answered_seconds") == 1.5)
        #expect(try text.value("btcall_link_setups", ["codec": "mSBC", "result": "timedOut"]) == 1)
        #expect(try text.value("btcall_link_setups", ["codec": "mSBC", "result": "up"]) == 0)
        #expect(try text.value("btcall_link_setups", ["codec": "CVSD", "result": "up"]) == 1)
        #expect(try text.value("btcall_route_changes", ["reason": "linkSilent"]) == 1)
        #expect(try text.value("btcall_hook_failures", ["event": "problem"]) == 1)
    }

    @Test func `A packet counter does not decrease when a late packet arrives`() throws {
        let metrics = Metrics()
        var present = Metrics.Present()
        func lost(_ packets: Int) throws -> Double {
            var quality = LinkQuality()
            quality.packetsLost = packets
            present.audio = [AudioKind.headset: quality]
            return try OpenMetricsReader(metrics.text(present)).value(
                "btcall_audio_packets_lost", ["device": "headset"])
        }
        #expect(try lost(5) == 5)
        #expect(try lost(3) == 5)
        #expect(try lost(6) == 6)
    }
}
