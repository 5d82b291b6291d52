import BTCallAPI
import ControlLoop
import DBus

// The calls that are over: `Calls1.Log`.
extension CallsObject {
    var logMethods: [ExportedInterface.Method] {
        let log = log
        return [
            .init(BTCallName.Calls.log, in: [("maximum", "u")], out: [("calls", "aa{sv}")]) { call in
                let maximum = Int(clamping: argument(call, 0).integerValue ?? 0)
                return [.vardicts(log.entries(maximum).map(\.fields))]
            }
        ]
    }
}
