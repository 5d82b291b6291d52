import AudioPaths
import BTCall
import BTCallAPI
import BTCallBench
import BTCallDaemon
import BTCallSimulator
import BluetoothTypes
import CallControl
import Configuration
import ControlLoop
import DBus
import Foundation
import Routing
import TestSupport
import Testing

extension DaemonTests {
    /// The quality of calls: its properties and its record.
    @Suite @ControlPlane struct CallQualityTests {
        private let first = Choice("bluetooth:\(Box.first)") ?? .none

        /// The headsets that are switched on; a headset that is not kept sends nothing.
        @ControlPlane private final class Headsets { var ears: [Ears] = [] }
        private let headsets = Headsets()

        /// Shortens the measuring intervals.
        private static func impatient(_ configuration: inout Configuration) {
            configuration.timeouts.quality = .milliseconds(100)
            configuration.timeouts.qualityWindow = .seconds(1)
        }

        private func call(_ box: Box) async throws -> Call? { try await box.bridge.calls.list().first }

        /// A call on the first headset.
        private func startCall(_ box: Box, _ registration: ProviderRegistration) async throws -> Call.ID {
            try await box.prefer(.bluetooth)
            headsets.ears.append(try await box.connect(Box.first, codecs: [.cvsd, .mSBC]))
            let call = try await box.startCall(registration)
            try await box.route(first)
            return call
        }

        // MARK: Properties

        @Test func `S2.17 btcall call show has the SCO handle, the codec and the packet size`() async throws {
            try await Box.run(
                configure: Self.impatient,
                body: { box in
                    let program = try Program(box.address)
                    #expect(try await program("call", "show").text == "btcall: there is no call\n")
                    let registration = try await box.register()
                    let id = try await startCall(box, registration)
                    try await eventually("the link is shown") { try await call(box)?.link?.codec != nil }
                    let graph = box.daemon.graph
                    let handle = try #require(graph.routedTerminal.flatMap { graph.handle(ofTerminal: $0) })
                    let link = "\(first), mSBC, packets of 60 bytes, handle \(handle)"
                    let shown = try await program("call", "show")
                    #expect(shown.status == 0)
                    #expect(shown.text.contains("Link      \(link)\n"), "\(shown.text)")
                    let json = try await program("call", "show", "\(id)", "--json").text
                    for part in ["\"codec\": \"mSBC\"", "\"handle\": \(handle)", "\"packetBytes\": 60"] {
                        #expect(json.contains(part), "\(json)")
                    }
                    try await box.bridge.audioDeviceManager.select(.earpiece)
                    try await box.route(.earpiece)
                    try await eventually("the earpiece is shown") {
                        try await call(box)?.link?.device == .earpiece
                    }
                    let local = try #require(try await call(box)?.link)
                    #expect(local.handle == nil && local.codec == nil && local.packetBytes == nil)
                })
        }

        @Test func `S2.17 an application's SSRCs are shown, and invalid ones are refused`() async throws {
            try await Box.run { box in
                let registration = try await box.register()
                let id = try await box.startCall(registration)
                #expect(try await call(box)?.ssrcs == [])
                try await registration.update(id, .active, ssrcs: [7, .max])
                #expect(try await call(box)?.ssrcs == [7, .max])
                #expect(try await Program(box.address)("call", "show").text.contains("SSRCs     7, 4294967295\n"))
                let tooMany = await refusal { () throws(BridgeError) in
                    try await registration.update(id, .held, ssrcs: Array(0..<17))
                }
                #expect(tooMany?.code == .invalidArgument)
                let now = try await call(box)
                #expect(now?.ssrcs == [7, .max] && now?.state == .active)
                try await registration.update(id, .held)
                #expect(try await call(box)?.ssrcs == [7, .max])
                try await registration.update(id, .ended, ssrcs: [1])
                #expect(try await box.bridge.calls.list().isEmpty)
            }
        }

        @Test func `S2.18 5 % dropped mSBC frames lowers the score, recovery raises it`() async throws {
            try await Box.run(
                configure: Self.impatient,
                body: { box in
                    let registration = try await box.register()
                    let id = try await startCall(box, registration)
                    var told: [Int] = []
                    let changes = box.client.subscribe(
                        sender: BTCallName.bus, path: BTCallPath.call(id.description), member: "PropertiesChanged"
                    ) { signal in
                        let values = signal.arguments[1].vardictValue ?? [:]
                        if let score = values[BTCallName.Call.quality]?.integerValue { told.append(Int(score)) }
                    }
                    defer { changes.cancel() }
                    func score() async throws -> Int { try await call(box)?.quality?.score ?? -1 }
                    try await eventually("the link is good, for as long as the window is") {
                        let quality = try await call(box)?.quality
                        return (quality?.durationMs ?? 0) >= 1_000 && (quality?.score ?? 0) >= 90
                    }
                    box.simulation.loseEach(20, of: Box.first)
                    // A second has 133 packets.
                    var lossy: CallQuality?
                    try await eventually("the window has the loss of a second") {
                        lossy = try await call(box)?.quality
                        return lossy.map { $0.lost >= 6 } ?? false
                    }
                    let quality = try #require(lossy)
                    #expect(quality.score.map { $0 <= 70 } ?? false, "\(quality)")
                    #expect(quality.concealedMs >= 45 && quality.packets > 100)
                    try await eventually("that is signalled") { told.contains { $0 <= 70 } }
                    box.simulation.loseEach(0, of: Box.first)
                    try await eventually("the recovery raises it") { try await score() >= 90 }
                    try await eventually("that is signalled as well") {
                        told.last.map { $0 >= 90 } ?? false
                    }
                    // Only changes are signalled.
                    #expect(zip(told, told.dropFirst()).allSatisfy { $0 != $1 })
                    let total = try #require(try await call(box)?.totalQuality)
                    #expect(total.lost >= quality.lost && total.durationMs > quality.durationMs)
                })
        }

        @Test func `No quality is measured unless a call has audio`() async throws {
            try await Box.run(
                configure: Self.impatient,
                body: { box in
                    let quality = box.daemon.quality
                    #expect(!quality.isWatching)
                    let registration = try await box.register([.hold])
                    let ringing = try await registration.reportIncoming(number: "1")
                    #expect(!quality.isWatching)
                    #expect(try await call(box)?.quality == nil)
                    try await registration.update(ringing, .ended)
                    let held = try await box.startCall(registration)
                    #expect(quality.isWatching)
                    try await eventually("the earpiece is watched") { try await call(box)?.quality?.score != nil }
                    try await registration.update(held, .held)
                    #expect(!quality.isWatching)
                    let before = try #require(try await call(box))
                    #expect(before.link == nil && before.quality?.score != nil)
                    try await registration.update(held, .active)
                    #expect(quality.isWatching)
                    try await registration.update(held, .ended)
                    #expect(!quality.isWatching)
                })
        }

        @Test func `Setting up a link again counts as a retry`() async throws {
            try await Box.run(
                configure: { configuration in
                    Self.impatient(&configuration)
                    configuration.routing.openTimeout = .milliseconds(200)
                    configuration.routing.penaltyBase = .milliseconds(100)
                },
                body: { box in
                    try await box.prefer(.bluetooth)
                    _ = try await box.connect(Box.first, codecs: [.cvsd])
                    box.simulation.die(Box.first)
                    let registration = try await box.register()
                    _ = try await box.startCall(registration)
                    try await eventually("the link is tried again") {
                        try await (call(box)?.totalQuality?.retries ?? 0) > 0
                    }
                    box.simulation.revive(Box.first)
                    try await box.route(first)
                    #expect(try await (call(box)?.totalQuality?.retries ?? 0) > 0)
                })
        }

        // MARK: The record

        private func records(
            numbers: Bool = false, file: String = "calls.jsonl", body: (Box, _ file: URL) async throws -> Void
        ) async throws -> [[String: Any]] {
            let folder = FileManager.default.temporaryDirectory.appending(path: "btcall-calls-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }  // A folder in the temporary directory may stay.
            let path = folder.appending(path: file)
            try await Box.run(
                configure: { configuration in
                    Self.impatient(&configuration)
                    configuration.callRecord = path.path()
                    configuration.recordsNumbers = numbers
                }, body: { box in try await body(box, path) })
            return try Self.lines(of: path)
        }

        private static func lines(of file: URL) throws -> [[String: Any]] {
            // Without a file there are no lines.
            guard let text = try? String(contentsOf: file, encoding: .utf8) else { return [] }
            #expect(text.hasSuffix("\n"))
            return try text.split(separator: "\n").map { line in
                try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            }
        }

        @Test func `The record has one line for each call, with every device that carried it`() async throws {
            let records = try await records { box, file in
                let registration = try await box.register()
                let talked = try await startCall(box, registration)
                try await eventually("the headset is watched") {
                    let total = try await call(box)?.totalQuality
                    return (total?.durationMs ?? 0) >= 200 && (total?.packets ?? 0) > 20
                }
                try await box.bridge.audioDeviceManager.select(.earpiece)
                try await eventually("the earpiece has it") { try await call(box)?.link?.device == .earpiece }
                #expect(try Self.lines(of: file).isEmpty)
                try await registration.update(talked, .ended)
                let missed = try await registration.reportIncoming(number: "+4930777", name: "Bob")
                try await registration.update(missed, .ended, reason: .missed)
                #expect(try Self.lines(of: file).count == 2)
            }
            #expect(records.count == 2)
            let talked = try #require(records.first)
            #expect(
                talked.keys.sorted() == [
                    "answered", "began", "call", "direction", "ended", "name", "number", "omittedStretches", "provider",
                    "quality", "reason", "stretches",
                ])
            #expect(talked["direction"] as? String == "outgoing" && talked["provider"] as? String == "test")
            #expect(talked["reason"] as? String == "remoteHangUp")
            #expect(talked["number"] is NSNull && talked["name"] is NSNull)
            let times = ["began", "answered", "ended"].compactMap { talked[$0] as? String }
            #expect(times.count == 3 && times == times.sorted())
            let stretches = try #require(talked["stretches"] as? [[String: Any]])
            let headset = try #require(stretches.first { $0["device"] as? String == first.description })
            #expect(headset["codec"] as? String == "mSBC" && headset["packetBytes"] as? Int == 60)
            #expect(headset["handle"] is Int)
            let quality = try #require(headset["quality"] as? [String: Any])
            #expect(
                quality.keys.sorted() == [
                    "concealedMs", "driftPPM", "droppedMs", "durationMs", "gaps", "jitterMs", "lost", "packets",
                    "retries", "score", "xruns",
                ])
            #expect((quality["packets"] as? Int ?? 0) > 20)
            let earpiece = try #require(stretches.last)
            #expect(earpiece["device"] as? String == "earpiece" && earpiece["codec"] is NSNull)
            let total = try #require(talked["quality"] as? [String: Any])
            let durations = stretches.compactMap { ($0["quality"] as? [String: Any])?["durationMs"] as? Int }
            // Each is rounded down to a millisecond.
            let sum = durations.reduce(0, +)
            #expect((sum...(sum + stretches.count)).contains(total["durationMs"] as? Int ?? -1))
            let missed = try #require(records.last)
            #expect(missed["reason"] as? String == "missed" && missed["direction"] as? String == "incoming")
            #expect(missed["answered"] is NSNull && missed["quality"] is NSNull && missed["number"] is NSNull)
            #expect((missed["stretches"] as? [Any])?.isEmpty == true)
        }

        @Test func `With recordNumbers the record has number and name, with any characters`() async throws {
            let records = try await records(numbers: true) { box, _ in
                let registration = try await box.register()
                let call = try await registration.reportIncoming(number: "+4930777", name: "Bob \"\\\n é")
                try await registration.update(call, .ended)
            }
            #expect(records.first?["number"] as? String == "+4930777")
            #expect(records.first?["name"] as? String == "Bob \"\\\n é")
        }

        @Test func `A record that cannot be written is a problem until it can, and does not affect calls`() async throws
        {
            let records = try await records(file: "missing/calls.jsonl") { box, file in
                let registration = try await box.register()
                let call = try await box.startCall(registration)
                try await box.route(.earpiece)
                try await registration.update(call, .ended)
                #expect(try await box.bridge.calls.list().isEmpty)
                let problem = try #require(try await box.bridge.status().problems.first { $0.id == "record" })
                #expect(problem.what.contains("(ENOENT)") && problem.what.contains(file.path()))
                #expect(problem.remedy.contains("[calls] record"))
                try FileManager.default.createDirectory(
                    at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
                try await registration.update(try await box.startCall(registration), .ended)
                try await box.noProblem("record")
            }
            #expect(records.count == 1)
        }

        @Test func `A full record is renamed, four old ones are kept, and no line is lost before`() async throws {
            let folder = FileManager.default.temporaryDirectory.appending(path: "btcall-calls-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }  // A folder in the temporary directory may stay.
            let path = folder.appending(path: "calls.jsonl")
            try await Box.run(
                configure: { configuration in
                    configuration.callRecord = path.path()
                    configuration.recordsNumbers = true
                    configuration.recordKiB = 1
                },
                body: { box in
                    let owner = Switchboard()
                    box.daemon.calls.register(owner)
                    @ControlPlane func talk(_ number: Int) throws {
                        let record = try box.daemon.calls.reportIncoming(
                            from: owner, number: "\(number)", options: ReportOptions())
                        try owner.report("ended", of: record, to: box.daemon.calls)
                    }
                    func size(_ name: String) -> Int {
                        let attributes = try? FileManager.default.attributesOfItem(
                            atPath: folder.appending(path: name).path())
                        return attributes?[.size] as? Int ?? -1
                    }
                    let names = ["calls.jsonl", "calls.jsonl.1", "calls.jsonl.2", "calls.jsonl.3", "calls.jsonl.4"]
                    for number in 0..<40 { try talk(number) }
                    #expect(Set(try FileManager.default.contentsOfDirectory(atPath: folder.path())) == Set(names))
                    for name in names { #expect((1...1024).contains(size(name)), "\(name)") }
                    let numbers = try names.reversed().flatMap { name in
                        try Self.lines(of: folder.appending(path: name)).compactMap { $0["number"] as? String }
                    }
                    // The latest ones are complete and in order.
                    #expect(numbers.count > 5 && numbers == (40 - numbers.count..<40).map { "\($0)" })
                    // A record that cannot be renamed is still written to.
                    let first = folder.path() + "/calls.jsonl.1"
                    for name in names.dropFirst() {
                        try FileManager.default.removeItem(atPath: folder.path() + "/" + name)
                        try FileManager.default.createDirectory(
                            atPath: folder.path() + "/\(name)/full", withIntermediateDirectories: true)
                    }
                    for number in 40..<50 { try talk(number) }
                    let problem = try await box.problem("recordRotation")
                    #expect(problem.remedy.contains("[calls] recordKiB = 0"))
                    #expect(try Self.lines(of: path).last?["number"] as? String == "49")
                    #expect(size("calls.jsonl") > 1024)
                    try FileManager.default.removeItem(atPath: first)
                    try talk(50)
                    try await box.noProblem("recordRotation")
                    #expect(try Self.lines(of: path).map { $0["number"] as? String } == ["50"])
                })
        }

        @Test func `A pipe without a reader does not hold up the end of a call`() async throws {
            _ = try await records { box, file in
                #expect(mkfifo(file.path(), 0o600) == 0)
                let registration = try await box.register()
                let call = try await box.startCall(registration)
                try await registration.update(call, .ended)
                #expect(try await box.bridge.calls.list().isEmpty)
                let problem = try await box.bridge.status().problems.first { $0.id == "record" }
                #expect(problem?.what.contains("(ENXIO)") == true)
                try FileManager.default.removeItem(at: file)
            }
        }
    }
}
