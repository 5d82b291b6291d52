import BTCall
import BTCallBench
import BTCallSimulator
import BluetoothTypes
import ControlLoop
import Foundation
import TestSupport
import Testing

extension DaemonTests {
    /// The program btcall-web before a daemon with simulated headsets. It is asked over its Unix socket.
    @Suite(.serialized) @ControlPlane struct WebTests {
        /// - Parameter settings: of the configuration file.
        private func run(
            settings: String = "", _ body: (_ box: Box, _ socket: String, _ web: RunningProgram) async throws -> Void
        ) async throws {
            let folder = FileManager.default.temporaryDirectory.appending(path: "web-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }  // A folder in the temporary directory may stay.
            let socket = folder.appending(path: "sock").path()
            let configuration = folder.appending(path: "web.conf")
            try Data(settings.utf8).write(to: configuration)
            try await Box.run { box in
                let path = try Program(box.address, ["btcall-web"]).path
                // It finds btcall, which was built beside it.
                let web = try RunningProgram(
                    "/usr/bin/env",
                    [
                        "PATH=\(URL(filePath: path).deletingLastPathComponent().path()):/usr/bin:/bin", path,
                        "--config", configuration.path(), "--listen", "none", "--socket", socket, "--foreground",
                    ], box.address)
                try await eventually("it listens") { web.errors.contains("listening: \(socket)") }
                try await body(box, socket, web)
                web.terminate()
                #expect(try await web.status() == 0)
            }
        }

        private func json(_ reply: WebClient.Reply) throws -> NSObject {
            try #require(try JSONSerialization.jsonObject(with: Data(reply.body)) as? NSObject)
        }

        /// The tests run as root in CI: only root and the group btcall may do more than read.
        nonisolated private static let mayAct = geteuid() == 0

        @Test(arguments: [
            ("/v1/status", ["status"]), ("/v1/devices", ["devices"]), ("/v1/settings", ["config"]),
            ("/v1/volumes", ["volume"]), ("/v1/do-not-disturb", ["dnd"]), ("/v1/history", ["history"]),
        ])
        func `a route has the same JSON as the verb`(path: String, verb: [String]) async throws {
            try await run { box, socket, _ in
                _ = try await box.connect(Box.first)
                let (text, status) = try await Program(box.address)(verb + ["--json"])
                #expect(status == 0)
                let expected = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? NSObject
                let client = try WebClient(path: socket)
                let reply = try await client.request("GET", path)
                #expect(reply.status == 200)
                #expect(try json(reply) == expected)
            }
        }

        @Test func `metrics are those that btcalld prints, with the same names and labels`() async throws {
            try await run { box, socket, _ in
                _ = try await box.connect(Box.first)
                let client = try WebClient(path: socket)
                let reply = try await client.request("GET", "/metrics")
                #expect(reply.status == 200)
                #expect(reply.headers["content-type"]?.hasPrefix("application/openmetrics-text; version=1.0.0") == true)
                let (printed, status) = try await Program(box.address)(["daemon", "metrics"])
                #expect(status == 0)
                let served = Self.series(reply.text)
                #expect(served == Self.series(printed))
                for name in ["btcall_build_info", "btcall_calls", "btcall_headsets", "process_resident_memory_bytes"] {
                    #expect(served.contains { $0.hasPrefix(name) }, "\(name)")
                }
                #expect(try OpenMetricsReader(reply.text).value("btcall_headsets") == 1)
            }
        }

        /// Names and labels of all samples, and the lines about them.
        private static func series(_ text: String) -> [Substring] {
            text.split(separator: "\n").map { line in
                line.hasPrefix("#") ? line : line[..<(line.lastIndex(of: " ") ?? line.endIndex)]
            }
        }

        @Test(.enabled(if: mayAct)) func `a pushed call rings within a second; its button's answer and end are told`()
            async throws
        {
            try await run { box, socket, _ in
                try await box.prefer(.bluetooth)
                let ears = try await box.connect(Box.first)
                let events = try WebClient(path: socket)
                try events.send("GET", "/v1/events")
                try await eventually("the present state arrives") { events.events.first?.contains("present") == true }
                let client = try WebClient(path: socket)
                var quickest = Duration.seconds(60)
                // A machine that stalls does so in one of three tries.
                for _ in 1...3 where quickest >= .seconds(1) {
                    for call in try await box.bridge.calls.list() { try await box.bridge.calls.hangup(call.id) }
                    ears.forget()
                    let start = ControlLoop.now
                    let reply = try await client.request(
                        "POST", "/v1/calls/incoming", body: #"{"number":"5550100","name":"Door"}"#)
                    #expect(reply.status == 201, "\(reply.text)")
                    try await ears.hear(.ring)
                    quickest = min(quickest, start.duration(to: ControlLoop.now))
                }
                #expect(quickest < .seconds(1))
                let ended = events.events.count { $0.contains("callRemoved") }
                ears.headset.press(.answer)
                try await eventually("the answer is told") {
                    events.events.contains { $0.contains(#""state":"active""#) }
                }
                try await eventually("the route is told") {
                    events.events.contains { $0.contains("routeChanged") && $0.contains("bluetooth:\(Box.first)") }
                }
                ears.headset.press(.hangUp)
                try await eventually("the end is told") {
                    events.events.count { $0.contains("callRemoved") } > ended
                }
            }
        }

        @Test(.enabled(if: mayAct)) func `a page's call is answered and ended by the headset's button`() async throws {
            try await run { box, socket, _ in
                try await box.prefer(.bluetooth)
                let ears = try await box.connect(Box.first)
                let page = try WebClient(path: socket)
                #expect(try await page.openSocket() == 101)
                _ = try await page.message("present")
                page.say(#"{"request":"register","id":1,"name":"kiosk","key":"0123456789abcdef","capabilities":[]}"#)
                page.say(#"{"request":"reportIncoming","id":2,"number":"5550100"}"#)
                try await ears.hear(.ring)
                ears.headset.press(.answer)
                page.say(#"{"done":\#(try id(try await page.message(#""ask":"answer""#)))}"#)
                _ = try await page.message("callState", "active")
                ears.headset.press(.hangUp)
                page.say(#"{"done":\#(try id(try await page.message(#""ask":"end""#)))}"#)
                try await eventually("the call has ended") { try await box.bridge.calls.list().isEmpty }
            }
        }

        @Test(.enabled(if: mayAct)) func `a test call rings, says what was heard, and is the only one`() async throws {
            try await run { box, socket, _ in
                try await box.prefer(.bluetooth)
                let ears = try await box.connect(Box.first)
                let client = try WebClient(path: socket)
                try client.send("POST", "/v1/test-call", body: #"{"seconds":1}"#)
                try await ears.hear(.ring)
                let second = try await WebClient(path: socket).request("POST", "/v1/test-call", body: "{}")
                #expect(second.status == 409 && second.text.contains("busy"), "\(second.text)")
                ears.headset.press(.answer)
                try await eventually("the answer arrives", within: .seconds(20)) {
                    String(decoding: client.received, as: UTF8.self).contains(#""answeredByPerson":true"#)
                }
                #expect(try client.head().status == 200)
            }
        }

        @Test func `500 idle WebSockets take less than 20 MB, and each hears what happens`() async throws {
            try await run(settings: "[limits]\nrequestsPerSecond = 1000\n") { box, socket, web in
                var clients: [WebClient] = []
                // What the first ones need, all share.
                for _ in 0..<5 { clients.append(try await open(socket)) }
                let before = try web.anonymousMemory()
                for _ in 0..<500 { clients.append(try await open(socket)) }
                let taken = try web.anonymousMemory() - before
                #expect(taken < 20_000_000, "\(taken) bytes")
                _ = try await box.connect(Box.first)
                for client in clients { _ = try await client.message(#""event":"devices""#) }
            }
        }

        private func open(_ socket: String) async throws -> WebClient {
            let client = try WebClient(path: socket)
            #expect(try await client.openSocket() == 101)
            _ = try await client.message("present")
            return client
        }

        private func id(_ message: String) throws -> Int {
            let object = try JSONSerialization.jsonObject(with: Data(message.utf8)) as? [String: Any]
            return try #require(object?["id"] as? Int)
        }
    }
}
