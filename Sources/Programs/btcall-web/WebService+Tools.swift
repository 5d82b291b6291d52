import ControlLoop
import JSONText

/// Answers that the program `btcall` gives.
extension WebService {
    /// Most bytes of an answer.
    static let largestAnswer = 1 << 20
    static let doctorTimedOut = WebError(
        504, "timedOut", "the doctor has not come to an end: run btcall doctor in a shell")
    /// How long the test call waits for somebody who answers it.
    static let testCallPatience = 30

    /// What the doctor finds, from its own unit; without such a unit it runs here.
    func doctor(_ call: RouteCall) async throws -> WebAnswer {
        if let report = try await DoctorSocket.report(at: settings.doctor) {
            return call.reply(try Self.output(report, of: "doctor"))
        }
        guard let json = try await tool(["doctor"], within: .seconds(30)) else {
            throw Self.doctorTimedOut
        }
        return call.reply(json)
    }

    /// An incoming call whose far end is `btcall`: headsets ring, and what was heard is the answer.
    ///
    /// - Parameter seconds: of talk.
    func testCall(seconds: Int, _ call: RouteCall) async throws -> WebAnswer {
        guard !isTesting else { throw WebError(409, "busy", "a test call is being made: wait for its end") }
        isTesting = true
        defer { isTesting = false }
        let words = ["test-call", "--incoming", "--seconds", String(seconds)]
        guard let json = try await tool(words, within: .seconds(Self.testCallPatience + seconds)) else {
            throw WebError(504, "timedOut", "nobody answered the test call within \(Self.testCallPatience) s")
        }
        return call.reply(json)
    }

    /// Runs `btcall` with `--json`.
    ///
    /// - Returns: what it printed; nil if it had to be killed.
    private func tool(_ words: [String], within limit: Duration) async throws -> JSON? {
        let report: ControlLoop.ChildReport
        do throws(SystemError) {
            report = try await ControlLoop.shared.run(
                [settings.tool] + words + ["--json", "--bus", "\(settings.bus)"], adding: [:], within: limit,
                keeping: Self.largestAnswer)
        } catch {
            throw WebError(501, "notSupported", "btcall cannot be run on this machine (\(error)): install it")
        }
        guard !report.wasKilled else { return nil }
        return try Self.output(Array(report.output.utf8), of: words[0])
    }

    private static func output(_ bytes: [UInt8], of verb: String) throws(WebError) -> JSON {
        let json: JSON
        do throws(JSONError) {
            json = try JSON(reading: bytes, rules: JSONRules(bytes: largestAnswer))
        } catch {
            throw WebError(502, "failed", "btcall \(verb) printed no JSON: run it in a shell")
        }
        guard let error = json["error"] else { return json }
        let message = error["message"]?.stringValue ?? "btcall \(verb) failed: run it in a shell"
        switch error["code"]?.stringValue ?? "" {
        case let code where ["notRunning", "noBus"].contains(code): throw WebError(503, code, message)
        case let code where ["busy", "wrongState", "unavailable", "notStarted"].contains(code):
            throw WebError(409, code, message)
        default: throw WebError(502, "failed", message)
        }
    }
}
