import AudioPaths
import BTCallAPI
import BluetoothTypes
import ControlLoop
import DBus
import Diagnostics
import Routing

// The explanation of the router's present and past decisions.
extension RouterObject {
    /// Explains the decision level by level, now or at the option `time`.
    func explain(_ call: MethodCall) throws(APIError) -> [Value] {
        [.vardict(try explanation(call.fields(0, .explain)).fields)]
    }

    private func explanation(_ options: Fields) throws(APIError) -> ExplanationDescription {
        guard let time = try options.optionalInteger("time", as: Int64.self) else {
            var description = Self.description(of: router.policy.explain(at: ControlLoop.now))
            description.text += notes().map { "note: \($0)" }
            return description
        }
        do throws(FlightRecorder.RangeError) {
            let (policy, instant) = try router.recorder.policy(atUnixMilliseconds: time)
            return Self.description(of: policy.explain(at: instant))
        } catch {
            throw APIError(.invalidArgument, error.description)
        }
    }

    func incident(_ call: MethodCall) throws(APIError) -> [Value] {
        let options = try call.fields(0, .incident)
        let includingAddresses = try options.optionalBool("addresses") ?? false
        guard let text = router.recorder.incident(title: "on request", includingAddresses: includingAddresses) else {
            throw APIError(.wrongState, "nothing has been recorded yet: there was no routing event")
        }
        return [.string(text)]
    }

    private static func description(of explanation: Explanation) -> ExplanationDescription {
        ExplanationDescription(
            chosen: word(explanation.target?.device ?? .none), level: explanation.chosen?.rawValue ?? "",
            reason: explanation.reason?.rawValue ?? "",
            levels: explanation.levels.map { finding in
                let measure = finding.verdict.measure
                return .init(
                    name: finding.level.name, spec: finding.spec ?? "",
                    candidate: finding.candidate?.device.description ?? "", verdict: finding.verdict.text,
                    isEligible: finding.verdict.kind == .eligible,
                    value: measure.map { "\($0.value) \($0.unit)" } ?? "",
                    limit: measure.map { "\($0.limit) \($0.unit)" } ?? "")
            },
            next: explanation.next.map { next in
                .init(
                    action: next.word, device: next.device?.description ?? "",
                    remaining: next.remaining?.milliseconds)
            },
            text: explanation.description.split(separator: "\n").map(String.init))
    }
}
