import BTCallAPI
import ControlLoop
package import DBus

// Who knows the names of callers.
extension CallsObject {
    package var contactMethods: [ExportedInterface.Method] {
        let contacts = calls.contacts
        return [
            .init(BTCallName.Calls.registerContactResolver, in: [("resolver", "o")]) { call throws(BusError) in
                try reply { () throws(APIError) in
                    try contacts.register(busName: call.sender, path: text(call, 0, "resolver", .address))
                    return []
                }
            },
            .init(BTCallName.Calls.unregisterContactResolver, in: [("resolver", "o")]) { call throws(BusError) in
                try reply { () throws(APIError) in
                    try contacts.unregister(busName: call.sender, path: text(call, 0, "resolver", .address))
                    return []
                }
            },
        ]
    }
}
