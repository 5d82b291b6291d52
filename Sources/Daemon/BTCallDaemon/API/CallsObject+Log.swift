import BTCallAPI
import ControlLoop
package import DBus

// The calls that are over: `Calls1.Log`.
extension CallsObject {
    package var logMethods: [ExportedInterface.Method] {
        let (log, bus) = (log, bus)
        return [
            .init(BTCallName.Calls.log, in: [("maximum", "u")], out: [("calls", "aa{sv}")], isReading: true) { call in
                let maximum = Int(clamping: argument(call, 0).integerValue ?? 0)
                let isReader = await bus.isReader(call.sender)
                return [.vardicts(log.entries(maximum).map { isReader ? $0.fields : $0.publicFields })]
            }
        ]
    }
}
