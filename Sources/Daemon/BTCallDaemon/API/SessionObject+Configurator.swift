import BTCallAPI
import ControlLoop
package import DBus

// Who says how local devices are to be opened.
extension SessionObject {
    package var configuratorMethods: [ExportedInterface.Method] {
        let configurator = configurator
        return [
            .init(BTCallName.Session.registerConfigurator, in: [("configurator", "o")]) { call throws(BusError) in
                try reply { () throws(APIError) in
                    try configurator.register(busName: call.sender, path: text(call, 0, "configurator", .address))
                    return []
                }
            },
            .init(BTCallName.Session.unregisterConfigurator, in: [("configurator", "o")]) { call throws(BusError) in
                try reply { () throws(APIError) in
                    try configurator.unregister(busName: call.sender, path: text(call, 0, "configurator", .address))
                    return []
                }
            },
        ]
    }
}
