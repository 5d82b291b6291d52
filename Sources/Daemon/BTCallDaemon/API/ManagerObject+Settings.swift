import BTCallAPI
package import Configuration
import ControlLoop
package import DBus

// The configuration, read and changed at run time.
extension ManagerObject {
    package static func methods(of settings: Settings) -> [ExportedInterface.Method] {
        typealias Name = BTCallName.Manager
        return [
            .init(Name.listSettings, out: [("settings", "aa{sv}")], isReading: true) { _ async throws(BusError) in
                [.vardicts(settings.list.map(\.fields))]
            },
            .init(Name.setSetting, in: [("key", "s"), ("value", "s")]) { call async throws(BusError) in
                let answer = try reply { () throws(APIError) in
                    try settings.set(text(call, 0, "key", .name), text(call, 1, "value", .value))
                    return []
                }
                await settings.settle?()
                return answer
            },
            .init(Name.resetSetting, in: [("key", "s")]) { call async throws(BusError) in
                let answer = try reply { () throws(APIError) in
                    try settings.reset(text(call, 0, "key", .name))
                    return []
                }
                await settings.settle?()
                return answer
            },
        ]
    }
}
