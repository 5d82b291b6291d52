import BTCallAPI
import BluetoothTypes
import ControlLoop
import DBus

// What is remembered of headsets, connected or not.
extension ManagerObject {
    static func methods(of headsets: HeadsetDirectory) -> [ExportedInterface.Method] {
        [
            .init(BTCallName.Manager.forgetCodecs, in: [("address", "s")]) { call async throws(BusError) in
                try reply { () throws(APIError) in
                    guard let address = BluetoothAddress(text(call, 0)) else {
                        throw APIError(
                            .invalidArgument, "\"\(text(call, 0))\" is no address; accepted: AA:BB:CC:DD:EE:FF")
                    }
                    try headsets.forgetCodecs(of: address)
                    return []
                }
            }
        ]
    }
}
