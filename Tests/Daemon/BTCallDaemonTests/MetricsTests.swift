import AudioPaths
import BTCall
import BTCallAPI
import BTCallBench
import BTCallDaemon
import BTCallSimulator
import BluetoothTypes
import CBTCall
import Configuration
import ControlLoop
import Diagnostics
import Foundation
import Glibc
import Routing
import TestSupport
import Testing

extension DaemonTests {
    @Suite @ControlPlane struct MetricsTests {
        private let first = Choice("bluetooth:\(Box.first)") ?? .none

        private func metrics(_ box: Box) async throws -> OpenMetricsReader {
            try OpenMetricsReader(try await box.bridge.metrics())
        }

        @Test func `Calls, links and routes are counted, and a device's counts remain when it goes`() async throws {
            try await Box.run { box in
                #expect(try await metrics(box).value("btcall_bluetoothd_up") == 1)
                _ = try await box.connect(Box.first, codecs: [.mSBC, .cvsd])
                try await box.prefer(first)
                let registration = try await box.register()
                let call = try await box.startCall(registration)
                try await box.playing("headset 1")
                let during = try await metrics(box)
                #expect(try during.value("btcall_calls") == 1)
                #expect(try during.value("btcall_headsets") == 1)
                #expect(try during.value("btcall_route", ["btcall_route": "headset"]) == 1)
                #expect(try during.value("btcall_route", ["btcall_route": "earpiece"]) == 0)
                let codec = try #require(box.daemon.graph.codec(ofLink: Box.first))
                #expect(try during.value("btcall_link_setups", ["codec": "\(codec)", "result": "up"]) == 1)
                let packets = try during.value("btcall_audio_packets_received", ["device": "headset"])
                #expect(packets > 0)
                box.bluez.disconnect(Box.first)
                try await box.route(.earpiece)
                try await registration.update(call, .ended)
                try await eventually("the call has ended") { try await box.bridge.calls.list().isEmpty }
                let after = try await metrics(box)
                #expect(try after.value("btcall_audio_packets_received", ["device": "headset"]) >= packets)
                #expect(try after.value("btcall_calls_ended", ["reason": "remoteHangUp"]) == 1)
                #expect(try after.value("btcall_calls_answered_seconds") > 0)
                #expect(try after.value("btcall_calls") == 0)
                #expect(try after.value("btcall_headsets") == 0)
                #expect(try after.value("btcall_route_changes", ["reason": "callStarted"]) >= 1)
                box.bluez.stop()
                try await eventually("bluetoothd is seen to go") {
                    try await metrics(box).value("btcall_bluetoothd_up") == 0
                }
                try await box.bluez.start()
                try await eventually("bluetoothd is counted again") {
                    try await metrics(box).value("btcall_bluetoothd_appearances") == 2
                }
                let shown = try await Program(box.address)("metrics")
                #expect(shown.status == 0 && shown.text.hasSuffix("# EOF\n"))
                _ = try OpenMetricsReader(shown.text)
            }
        }

        /// A port that was free a moment ago.
        private func freePort() throws -> Int {
            let client = try TCPClient(port: 0)
            defer { client.close() }
            return client.localPort
        }

        @Test func `A port on this machine serves the text, and refuses other requests with a reason`() async throws {
            let port = try freePort()
            try await Box.run(
                configure: { $0.metricsPort = port },
                body: { box in
                    let answer = try await TCPClient.ask(
                        port, "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n")
                    #expect(answer.head.first == "HTTP/1.1 200 OK")
                    let type = "Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8"
                    #expect(answer.head.contains(type))
                    #expect(answer.head.contains("Content-Length: \(answer.body.utf8.count)"))
                    #expect(try OpenMetricsReader(answer.body).value("btcall_calls") == 0)
                    let missing = try await TCPClient.ask(port, "GET /x HTTP/1.1\r\n\r\n")
                    #expect(missing.head.first == "HTTP/1.1 404 Not Found" && missing.body.contains("only /metrics"))
                    let posted = try await TCPClient.ask(port, "POST /metrics HTTP/1.1\r\n\r\nbody")
                    #expect(posted.head.first?.contains("405") == true && posted.head.contains("Allow: GET"))
                    let page = try await TCPClient.ask(
                        port, "GET /metrics HTTP/1.1\r\nHost: example.org\r\n\r\n")
                    #expect(page.head.first == "HTTP/1.1 421 Misdirected Request")
                    #expect(page.body.hasPrefix("btcalld: the field Host is neither 127.0.0.1 nor localhost"))
                    let long = String(repeating: "x", count: 3 * MetricsRequest.longest)
                    #expect(try await TCPClient.ask(port, long).head.first?.contains("431") == true)
                    // Off, and on again.
                    try await box.bridge.setSetting("metrics.port", to: "0")
                    #expect(throws: (any Error).self) { try TCPClient(port: port).close() }
                    try await box.bridge.setSetting("metrics.port", to: "\(port)")
                    #expect(
                        try await TCPClient.ask(port, "GET /metrics HTTP/1.0\r\n\r\n").head.first?.contains("200")
                            == true)
                })
        }

        @Test func `A client without a request makes room for one with a request, and is cut off in the end`()
            async throws
        {
            let port = try freePort()
            try await Box.run(
                configure: {
                    $0.metricsPort = port
                    $0.timeouts.metrics = .seconds(5)
                },
                body: { box in
                    let question = "GET /metrics HTTP/1.1\r\n\r\n"
                    let silent = try (0..<5 * MetricsListener.mostClients).map { _ in try TCPClient(port: port) }
                    defer { for client in silent { client.close() } }
                    for _ in 0..<3 {
                        #expect(try await TCPClient.ask(port, question).head.first == "HTTP/1.1 200 OK")
                    }
                    // A client that stays after its answer makes room before one that has not sent its request.
                    let last = try #require(silent.last)
                    let stays = try (0..<2 * MetricsListener.mostClients).map { _ in
                        try TCPClient(port: port, asking: question)
                    }
                    defer { for client in stays { client.close() } }
                    #expect(try await TCPClient.ask(port, question).head.first == "HTTP/1.1 200 OK")
                    last.send(question)
                    #expect(String(decoding: try await last.readAll(), as: UTF8.self).hasSuffix("# EOF\n"))
                    for client in silent.dropLast() { #expect(try await client.readAll().isEmpty) }
                    #expect(try await box.bridge.status().problems.isEmpty)
                })
        }

        @Test func `A taken port is a problem, until another port is set`() async throws {
            let port = try freePort()
            try await Box.run(
                configure: { $0.metricsPort = port },
                body: { box in
                    try await Box.run(
                        configure: { $0.metricsPort = port },
                        body: { other in
                            let problem = try await other.problem("metrics")
                            #expect(problem.what.contains("\(port)") && problem.what.contains("EADDRINUSE"))
                            #expect(problem.remedy.contains("[metrics] port"))
                            try await other.bridge.setSetting("metrics.port", to: "0")
                            try await other.noProblem("metrics")
                        })
                    #expect(try await box.bridge.status().problems.isEmpty)
                })
        }
    }
}

/// A client of a port of 127.0.0.1.
@ControlPlane
final class TCPClient {
    struct Answer {
        let head: [String]
        let body: String
    }

    private var descriptor: Int32

    /// Connects; with port 0 it only opens a port of its own.
    init(port: Int) throws {
        descriptor = try SystemError.check("socket") {
            socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let (end, isServer) = (descriptor, port == 0)
        let result = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                let size = socklen_t(MemoryLayout<sockaddr_in>.size)
                return isServer ? bind(end, $0, size) : connect(end, $0, size)
            }
        }
        guard result == 0 else {
            let error = SystemError("connect")
            close()
            throw error
        }
    }

    /// Connects and sends a request.
    convenience init(port: Int, asking question: String) throws {
        try self.init(port: port)
        send(question)
    }

    func send(_ text: String) {
        let bytes = Array(text.utf8)
        _ = bytes.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    }

    var localPort: Int {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        _ = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        return Int(UInt16(bigEndian: address.sin_port))
    }

    func close() {
        if descriptor >= 0 { _ = Glibc.close(descriptor) }
        descriptor = -1
    }

    static func ask(_ port: Int, _ question: String) async throws -> Answer {
        let client = try TCPClient(port: port, asking: question)
        defer { client.close() }
        let text = String(decoding: try await client.readAll(), as: UTF8.self)
        let parts = text.split(separator: "\r\n\r\n", maxSplits: 1, omittingEmptySubsequences: false)
        return Answer(
            head: (parts.first ?? "").split(separator: "\r\n").map { String($0) },
            body: parts.count > 1 ? String(parts[1]) : "")
    }

    /// Everything until the other end closes.
    func readAll() async throws -> [UInt8] {
        var bytes: [UInt8] = []
        try await eventually("the answer ends") {
            var piece = [UInt8](repeating: 0, count: 65536)
            while true {
                let count = recv(self.descriptor, &piece, piece.count, Int32(MSG_DONTWAIT))
                if count > 0 { bytes += piece.prefix(count) }
                if count == 0 || (count < 0 && errno == ECONNRESET) { return true }
                if count < 0 { return false }
            }
        }
        return bytes
    }
}
