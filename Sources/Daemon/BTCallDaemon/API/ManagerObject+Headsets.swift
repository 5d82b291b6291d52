import BTCallAPI
import BluetoothTypes
import ControlLoop
package import DBus

// What is remembered of headsets, connected or not.
extension ManagerObject {
    package static func methods(of headsets: HeadsetDirectory) -> [ExportedInterface.Method] {
        [
            .init(BTCallName.Manager.forgetCodecs, in: [("address", "s")]) { call async throws(BusError) in
                try reply { () throws(APIError) in
                    let word = try text(call, 0, "address", .word)
                    guard let address = BluetoothAddress(word) else {
                        throw APIError(
                            .invalidArgument, "\"\(word)\" is no address; accepted: AA:BB:CC:DD:EE:FF")
                    }
                    try headsets.forgetCodecs(of: address)
                    return []
                }
            }
        ]
    }
}
