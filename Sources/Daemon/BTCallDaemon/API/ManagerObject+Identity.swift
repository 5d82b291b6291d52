package import BTCallAPI
package import Configuration
import ControlLoop
package import DBus

// Who the box is, and logging out.
extension ManagerObject {
    package static func logout(of daemon: any Activating) -> ExportedInterface.Method {
        .init(BTCallName.Manager.logout, in: [("options", "a{sv}")]) { [weak daemon] call async throws(BusError) in
            try await asyncReply { () async throws(APIError) in
                let options = Fields(call.arguments.first?.vardictValue ?? [:], of: "options")
                try await daemon?.logout(forgettingHeadsets: options.optionalBool("forgetHeadsets") ?? false)
            }
        }
    }

    package static func configuration(of settings: Settings) -> ExportedInterface.Property {
        .init(
            BTCallName.Manager.configuration, "a{sv}", get: { .vardict(settings.description.fields) },
            set: { value throws(BusError) in
                do throws(APIError) {
                    try settings.take(
                        ConfigurationDescription(try Fields(value, of: BTCallName.Manager.configuration)))
                } catch {
                    throw error.busError
                }
            })
    }
}

extension Settings {
    /// What `Manager1.Configuration` says.
    package var description: ConfigurationDescription {
        var values: [ConfigurationDescription.Entry: String] = [:]
        for entry in ConfigurationDescription.Entry.allCases { values[entry] = value(of: entry.setting) }
        return ConfigurationDescription(values)
    }

    /// Changes the entries that are given, all or none.
    package func take(_ description: ConfigurationDescription) throws(APIError) {
        let given = ConfigurationDescription.Entry.allCases.compactMap { entry in
            description.values[entry].map { (name: entry.setting, value: $0) }
        }
        try set(all: given)
    }
}
