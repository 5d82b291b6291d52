import BTCallAPI
import ControlLoop
package import DBus

// Who reads the log in place of the console.
extension ManagerObject {
    package static func logMethods(_ readers: LogReaders) -> [ExportedInterface.Method] {
        [
            .init(BTCallName.Manager.subscribeLog, out: [("lines", "h")]) { call async throws(BusError) in
                try reply { () throws(APIError) in [.unixDescriptor(try readers.add(call.sender))] }
            }
        ]
    }
}
