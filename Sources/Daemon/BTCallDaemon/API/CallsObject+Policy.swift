import BTCallAPI
import Configuration
import ControlLoop
package import DBus
import Telephony

// Which incoming calls are taken: `Calls1.DoNotDisturb`.
extension CallsObject {
    package var policyProperties: [ExportedInterface.Property] {
        let settings = settings
        let name = "\(ConfigurationSection.calls.settingPrefix).\(ConfigurationSection.doNotDisturb)"
        return [
            .init(
                BTCallName.Calls.doNotDisturb, "b", get: { .bool(settings.configuration.callPolicy.doNotDisturb) },
                set: { value throws(BusError) in
                    do throws(APIError) {
                        try settings.set(name, value.boolValue == true ? "yes" : "no")
                    } catch {
                        throw error.busError
                    }
                })
        ]
    }

    package func doNotDisturbChanged() { changed(BTCallName.Calls.doNotDisturb) }
}
