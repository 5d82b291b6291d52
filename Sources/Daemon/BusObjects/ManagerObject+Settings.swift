package import BTCallAPI
import Configuration
import ControlLoop
import DBus

// The configuration, read and changed at run time; the identity of the box, and logging out.
extension ManagerObject {
    func listSettings(_: MethodCall) -> [Value] { [.vardicts(settings.list.map(\.fields))] }

    func setSetting(_ call: MethodCall) async throws(APIError) {
        try settings.set(call.text(0, "key", .name), call.text(1, "value", .value))
        await settings.settle()
    }

    func resetSetting(_ call: MethodCall) async throws(APIError) {
        try settings.reset(call.text(0, "key", .name))
        await settings.settle()
    }

    func configurationValue() -> Value { .vardict(settings.description.fields) }

    func setConfiguration(_ value: Value) throws(APIError) {
        try settings.apply(ConfigurationDescription(Fields(value, of: BTCallName.Manager.configuration)))
    }

    func logout(_ call: MethodCall) async throws(APIError) {
        let forgets = try call.fields(0, .logout).optionalBool("forgetHeadsets") ?? false
        try await lifecycle?.logout(forgettingHeadsets: forgets)
    }
}

extension Settings {
    /// The value of `Manager1.Configuration`.
    package var description: ConfigurationDescription {
        var values: [ConfigurationDescription.Entry: String] = [:]
        for entry in ConfigurationDescription.Entry.allCases { values[entry] = value(of: entry.setting) }
        return ConfigurationDescription(values)
    }

    /// Changes the given entries, all or none.
    package func apply(_ description: ConfigurationDescription) throws(APIError) {
        let given = ConfigurationDescription.Entry.allCases.compactMap { entry in
            description.values[entry].map { (name: entry.setting, value: $0) }
        }
        try set(all: given)
    }
}
