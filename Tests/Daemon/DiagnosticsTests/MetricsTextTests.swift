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

    @Test func `A request is parsed once complete, and an invalid one is refused with the reason`() {
        func request(_ text: String) -> MetricsRequest? { MetricsRequest(Array(text.utf8)) }
        let whole = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
        for length in 0..<whole.utf8.count { #expect(MetricsRequest(Array(whole.utf8.prefix(length))) == nil) }
        #expect(request(whole) == .metrics)
        #expect(request("GET /metrics?x=1 HTTP/1.0\n\n") == .metrics)
        #expect(request("GET / HTTP/1.1\r\n\r\n") == .refused(.notFound))
        #expect(request("POST /metrics HTTP/1.1\r\n\r\n") == .refused(.methodNotAllowed))
        for bad in ["\r\n\r\n", "GET /metrics\r\n\r\n", "GET  /metrics HTTP/1.1\r\n\r\n", "GET x HTTP/1.1\r\n\r\n"] {
            #expect(request(bad) == .refused(.badRequest), "\(bad)")
        }
        let own = [
            "127.0.0.1", "127.0.0.1:9464", "localhost", "LOCALHOST:1", "\tlocalhost ",
            "localhost\r\nX-Host: example.org",
        ]
        for host in own { #expect(request("GET /metrics HTTP/1.1\r\nhOST:\(host)\r\n\r\n") == .metrics, "\(host)") }
        let others = [
            "example.org", "example.org:9464", "127.0.0.1.example.org", "localhost.", "localhost:", "localhost:x",
            "localhost:1:2", "localhost:123456", "", "[::1]:9464", "127.0.0.1\r\nHost: example.org", "local host",
        ]
        for host in others {
            for path in ["/metrics", "/"] {
                let text = "GET \(path) HTTP/1.1\nAccept: x\nHost: \(host)\n\n"
                #expect(request(text) == .refused(.misdirected), "\(host)")
            }
        }
        #expect(request("GET /metrics HTTP/1.1\nHost : example.org\n\n") == .refused(.misdirected))
        #expect(request(String(repeating: "x", count: MetricsRequest.longest)) == nil)
        #expect(request(String(repeating: "x", count: MetricsRequest.longest + 1)) == .refused(.tooLarge))
    }
}
