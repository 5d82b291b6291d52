import BTCallAPI
import Configuration
import ControlLoop
package import DBus

// The board's own battery, for boards whose battery UPower does not know.
extension ManagerObject {
    package static func property(of battery: BoardBattery) -> ExportedInterface.Property {
        .init(
            BTCallName.Manager.boardBattery, "i", get: { .int32(Int32(clamping: battery.percent ?? -1)) },
            set: { value throws(BusError) in
                let percent = value.integerValue ?? -2
                guard (-1...100).contains(percent) else {
                    throw APIError(
                        .invalidArgument, "\(percent) is no charge; accepted: 0 to 100 per cent, -1 for unknown"
                    ).busError
                }
                guard battery.source != .none else {
                    throw APIError(
                        .notSupported,
                        "bluetooth.boardBattery is none: set it to property (`btcall config boardBattery property`)"
                    ).busError
                }
                battery.give(percent < 0 ? nil : percent)
            })
    }
}
