import BTCallAPI
import BluetoothTypes
import Configuration
import ControlLoop
import DBus
import HeadsetControl

// Data kept for headsets, connected or not, and the board's own battery, which some headsets show.
extension ManagerObject {
    func forgetCodecs(_ call: MethodCall) throws(APIError) {
        let word = try call.text(0, "address", .word)
        guard let address = BluetoothAddress(word) else {
            throw APIError(.invalidArgument, "\"\(word)\" is no address; accepted: AA:BB:CC:DD:EE:FF")
        }
        try headsets.forgetCodecs(of: address)
    }

    func boardBatteryValue() -> Value { .int32(Int32(clamping: boardBattery.percent ?? -1)) }

    /// Sets the charge on boards whose battery UPower does not know.
    func setBoardBattery(_ value: Value) throws(APIError) {
        let percent = value.integerValue ?? -2
        guard (-1...100).contains(percent) else {
            throw APIError(.invalidArgument, "\(percent) is no charge; accepted: 0 to 100 per cent, -1 for unknown")
        }
        guard boardBattery.source != .none else {
            throw APIError(
                .notSupported,
                "bluetooth.boardBattery is none: set it to property (`btcall config boardBattery property`)")
        }
        boardBattery.give(percent < 0 ? nil : percent)
    }
}
