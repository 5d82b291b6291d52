import BTCall
import BTCallDaemon
import BTCallSimulator
import ControlLoop
import Foundation
import JSONText
import TestSupport
import Testing

extension DaemonTests {
    /// Calls owned by a script.
    @Suite @ControlPlane struct ScriptedCallTests {
        private static func said(_ words: [String], _ program: RunningProgram) async throws {
            try await eventually("the script is told \(words.last ?? "")") {
                program.words.count >= words.count
            }
            #expect(program.words == words, "\(program.errors)")
        }

        @Test func `A script owns calls by JSON lines, from report to end`() async throws {
            try await Box.run { box in
                let btcall = try Program(box.address)
                let provider = try btcall.start("provider", "--name", "door")
                var told = ["registered"]
                try await Self.said(told, provider)
                try provider.write(#"{"report":"incoming","number":"5550100","name":"Gate"}"#)
                told.append("reported 5550100")
                try await Self.said(told, provider)
                let call = try #require(try await box.bridge.calls.list().first)
                #expect(call.provider == "door" && call.name == "Gate" && call.state == .ringing)
                // Each request waits for its reply; the client's own task reports to the daemon.
                for (verb, request, state) in [
                    (["answer"], "answer 1", "state active"), (["hold"], "hold 2", "state held"),
                    (["resume"], "resume 3", "state active"), (["dtmf", "5"], "dtmf 4 5", nil),
                    (["hangup"], "end 5 localHangUp", "state ended localHangUp"),
                ] as [([String], String, String?)] {
                    let client = try RunningProgram(btcall.path, verb, box.address)
                    told.append(request)
                    try await Self.said(told, provider)
                    try provider.write("{\"id\":\(request.split(separator: " ")[1]),\"ok\":true}")
                    if let state { told.append(state) }
                    try await Self.said(told, provider)
                    #expect(try await client.status() == 0)
                }
                #expect(try await box.bridge.calls.list().isEmpty)
                let ids = provider.objects.dropFirst().map { $0["call"] as? String }
                #expect(ids.allSatisfy { $0 == call.id.description })
                provider.endInput()
                #expect(try await provider.status() == 0)
                #expect(provider.errors == "")
            }
        }

        @Test func `Wrong lines are reported with number and what is accepted, and nothing is lost`() async throws {
            try await Box.run { box in
                let provider = try Program(box.address).start("provider")
                try await Self.said(["registered"], provider)
                let long = "{\"report\":\"incoming\",\"number\":\"" + String(repeating: "1", count: 70_000) + "\"}"
                for line in [
                    "hello", #"{"report":"sideways","number":"1"}"#, #"{"report":"incoming","nubmer":"1"}"#, "",
                    #"{"update":"active"}"#, #"{"id":7,"ok":true}"#, #"{"id":1}"#, #"{"update":"ringing"}"#, "[]",
                    #"{"report":"outgoing"}"#, #"{"update":"held","reason":"busy"}"#, #"{"id":1,"update":"held"}"#,
                    long,
                    "\u{0}\u{1}", #"{"report":"outgoing","number":"12","state":"alerting"}"#,
                    #"{"update":"active","call":"zz"}"#, #"{"update":"active"}"#,
                    #"{"update":"ended","reason":"busy"}"#,
                ] { try provider.write(line) }
                try await eventually("everything is reported") { provider.lines.last?.contains("\"ended\"") == true }
                let errors = provider.objects.filter { $0["event"] as? String == "error" }
                let texts = Dictionary(
                    errors.map { ($0["line"] as? Int ?? 0, $0["error"] as? String ?? "") },
                    uniquingKeysWith: { $0 + $1 })
                let expected = [
                    1: "no JSON: a value expected, not 'hello'",
                    2: "report: \"report\": one of incoming, outgoing expected, not \"sideways\"",
                    3: "report: \"nubmer\" is not known; it has report, number, name",
                    5: "there is no call", 6: "there is no request 7",
                    7: "reply: \"ok\":true or \"error\":\"why\" is expected",
                    8: "update: \"update\": one of active, alerting, ended, held expected, not \"ringing\"",
                    9: "line: an object in braces expected, not []",
                    10: "report: \"number\" is missing: a string",
                    11: "update: a \"reason\" belongs to \"update\":\"ended\"",
                    13: "longer than 65536 bytes",
                    16: "\"zz\" is no call: there are ",
                ]
                for (line, text) in expected {
                    #expect(texts[line]?.hasPrefix(text) == true, "\(line): \(texts[line] ?? "nothing")")
                }
                #expect(texts[12]?.hasPrefix("one of these is expected: {\"id\":1,\"ok\":true}") == true)
                #expect(texts[14]?.hasPrefix("no JSON: a value expected") == true)
                #expect(texts.count == 14)
                let rest = provider.words.filter { !$0.hasPrefix("error") }
                #expect(rest == ["registered", "reported 12", "state alerting", "state active", "state ended busy"])
                provider.endInput()
                #expect(try await provider.status() == 0)
            }
        }

        @Test func `A script keeps a call to kinds of device, by line and by option`() async throws {
            try await Box.run { box in
                let btcall = try Program(box.address)
                let provider = try btcall.start("provider")
                try await Self.said(["registered"], provider)
                for routes in ["[]", #"["phone"]"#, #""earpiece""#, #"["earpiece","bluetooth"]"#] {
                    try provider.write(#"{"report":"incoming","number":"1","routes":"# + routes + "}")
                }
                try await eventually("the last one is reported") { provider.words.last == "reported 1" }
                let errors = provider.objects.compactMap { $0["error"] as? String }
                let accepted = "speakerphone, wiredHeadset, earpiece, bluetooth"
                #expect(
                    errors == [
                        "report: \"routes\" is empty; accepted: at least one of \(accepted)",
                        "report: \"routes\": one of \(accepted) expected, not \"phone\"",
                        "report: \"routes\": a list expected, not \"earpiece\"",
                    ])
                #expect(try await box.bridge.calls.list().map(\.routes) == [[.earpiece, .bluetooth]])
                provider.endInput()
                #expect(try await provider.status() == 0)
                let wrong = try await btcall("call", "report", "incoming", "2", "--route", "phone")
                #expect(wrong.status == 64 && wrong.text.contains("accepted: \(accepted)"))
                let report = try btcall.start("call", "report", "outgoing", "2", "--route", "wiredHeadset")
                try await eventually("it is reported") {
                    try await box.bridge.calls.list().map(\.routes) == [[.wiredHeadset]]
                }
                #expect(try await btcall("call", "show").text.contains("Only on   wiredHeadset\n"))
                report.terminate()
                #expect(try await report.status() == 0)
            }
        }

        @Test func `A script may refuse with a message, and its calls end with it`() async throws {
            try await Box.run { box in
                let btcall = try Program(box.address)
                let provider = try btcall.start("provider", "--capabilities", "dial")
                try await Self.said(["registered"], provider)
                let client = try btcall.start("dial", "4711")
                try await Self.said(["registered", "start 1 4711"], provider)
                try provider.write(#"{"id":1,"error":"no trunk is free"}"#)
                #expect(try await client.status() == 1)
                #expect(client.errors.contains("no trunk is free"))
                #expect(try await box.bridge.calls.list().isEmpty)
                // The last line needs no line end.
                try provider.write(#"{"report":"outgoing","number":"1"}"#)
                try await eventually("there is a call") { try await box.bridge.calls.list().count == 1 }
                let hold = try await btcall("hold")
                #expect(hold.status == 1)
                provider.endInput()
                #expect(try await provider.status() == 0)
                #expect(provider.words.last == "state ended providerGone")
                #expect(try await box.bridge.calls.list().isEmpty)
            }
        }

        @Test func `A script mutes, swaps and joins its calls if it registered for that`() async throws {
            try await Box.run { box in
                let btcall = try Program(box.address)
                let provider = try btcall.start(
                    "provider", "--capabilities", "dial,hold,mute,swap,conference", "--schemes", "door")
                var told = ["registered"]
                for (line, said) in [
                    (#"{"report":"incoming","number":"1"}"#, "reported 1"), (#"{"update":"active"}"#, "state active"),
                    (#"{"update":"held"}"#, "state held"), (#"{"report":"outgoing","number":"2"}"#, "reported 2"),
                ] {
                    try provider.write(line)
                    told.append(said)
                    try await Self.said(told, provider)
                }
                let ids = try await box.bridge.calls.list().map(\.id.description)
                try provider.write(#"{"update":"active","call":"\#(ids[1])"}"#)
                told.append("state active")
                try await Self.said(told, provider)
                for (verb, requests, states, members) in [
                    (["mic", "mute"], ["mute 1", "mute 2"], [], ids),
                    (["mic", "unmute"], ["unmute 3", "unmute 4"], [], ids),
                    (["swap"], ["swap 5"], ["state held", "state active"], [ids[1], ids[0]]),
                    (["conference"], ["conference 6"], ["state active"], ids),
                ] as [([String], [String], [String], [String])] {
                    let client = try RunningProgram(btcall.path, verb, box.address)
                    told += requests
                    try await Self.said(told, provider)
                    let asked = provider.objects.suffix(requests.count)
                    for request in asked { try provider.write("{\"id\":\(request["id"] ?? 0),\"ok\":true}") }
                    told += states
                    try await Self.said(told, provider)
                    #expect(try await client.status() == 0, "\(client.errors)")
                    let named = asked.flatMap { request in
                        request["calls"] as? [String]
                            ?? [request["call"], request["resume"]].compactMap { $0 as? String }
                    }
                    #expect(named == members)
                }
                let elsewhere = try btcall.start("dial", "sip:ann@example.org")
                #expect(try await elsewhere.status() == 1)
                #expect(elsewhere.errors.contains("door"), "\(elsewhere.errors)")
                provider.endInput()
                #expect(try await provider.status() == 0)
            }
        }

        @Test func `The audio of a script's call comes from a file and goes to one`() async throws {
            try await Box.run { box in
                let folder = FileManager.default.temporaryDirectory.appending(path: "btcall-\(UUID().uuidString)")
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
                defer { try? FileManager.default.removeItem(at: folder) }  // It may stay.
                let (far, near) = (folder.appending(path: "far"), folder.appending(path: "near"))
                let samples = (0..<50).flatMap { _ in Tone.samples(16000) }
                try Data(samples.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)] })
                    .write(to: far)
                try await box.prefer(.earpiece)
                let provider = try Program(box.address).start(
                    "provider", "--far-end", far.path(), "--record", near.path())
                try await Self.said(["registered"], provider)
                try provider.write(#"{"report":"outgoing","number":"1"}"#)
                try provider.write(#"{"update":"active"}"#)
                try await box.playing("earpiece")
                try await eventually("the microphone's audio is in the file") {
                    guard let data = try? Data(contentsOf: near), data.count > 3200 else { return false }
                    let heard = stride(from: 0, to: data.count - 1, by: 2).map {
                        Int16(truncatingIfNeeded: Int(data[$0]) | Int(data[$0 + 1]) << 8)
                    }
                    return Tone.isHeard(in: heard)
                }
                provider.endInput()
                #expect(try await provider.status() == 0)
            }
        }

        @Test func `A script is notified of the daemon's end, and ends`() async throws {
            try await Box.run { box in
                let provider = try Program(box.address).start("provider")
                try await Self.said(["registered"], provider)
                try provider.write(#"{"report":"incoming","number":"1"}"#)
                try await eventually("there is a call") { try await box.bridge.calls.list().count == 1 }
                try await box.restartDaemon()
                #expect(try await provider.status() == 1)
                #expect(provider.words.last == "released")
                #expect(provider.errors.contains("btcalld has ended"))
            }
        }
    }
}
