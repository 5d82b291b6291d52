import BTCallAPI
import DBus

/// Checks whether what was set for the route is what was probably meant.
let routingChecks = [
    DoctorCheck(
        "preference-replaced", .note,
        finds: "the preferred device was set twice and there is no fallback: the first one does not become it",
        remedy: "make the first one the fallback, or set the fallback to none on purpose",
        command: "btcall fallback DEVICE"
    ) { system in
        let router = system.bus.btcall.objects[BTCallPath.router]?[BTCallName.Interface.router] ?? [:]
        guard let preferred = router[BTCallName.Router.preferred]?.stringValue else {
            return .skipped("btcalld does not answer")
        }
        guard let replaced = router[BTCallName.Router.replacedPreference]?.stringValue, replaced != "none" else {
            return .ok
        }
        return .found([
            DoctorEvidence(
                "the preferred device was set to \(replaced), then to \(preferred), and there is no fallback: "
                    + "\(replaced) does not become it",
                seen: "ReplacedPreference of \(BTCallPath.router) is \(replaced)",
                command: "btcall fallback \(replaced)"
            )
        ])
    }
]
