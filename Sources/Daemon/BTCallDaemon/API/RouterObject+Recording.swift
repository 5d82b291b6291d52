package import BTCallAPI
import ControlLoop
package import DBus
import Routing

/// What `org.btcall.Router1` says of the past.
extension RouterObject {
    /// The walk over the levels, now or with the option `time` as it was then.
    package func explain(_ options: Fields) throws(APIError) -> ExplanationDescription {
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

    /// `Incident(a{sv} options) -> (s json)`
    package func incidentMethod() -> ExportedInterface.Method {
        .init(BTCallName.Router.incident, in: [("options", "a{sv}")], out: [("json", "s")], isReading: true) {
            [weak self] call async throws(BusError) in
            try reply { () throws(APIError) in
                let options = try Fields(argument(call, 0), of: "the options of Incident")
                let includingAddresses = try options.optionalBool("addresses") ?? false
                let text = self?.router.recorder.incident(
                    title: "asked for", includingAddresses: includingAddresses)
                guard let text else {
                    throw APIError(.wrongState, "nothing has been recorded yet: there was no routing event")
                }
                return [.string(text)]
            }
        }
    }
}
