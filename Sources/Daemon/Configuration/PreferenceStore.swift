package import ControlLoop
package import Logging

/// Stores what was set at run time and must survive a restart: the preferred and the default device, and the settings.
package struct PreferenceStore: Sendable {
    package struct Preferences: Equatable, Sendable {
        /// Devices in the policy's words; nil when never set.
        package var preferred: String?
        package var standard: String?
        /// The preferred device that `preferred` replaced while there was no default.
        package var replaced: String?
        /// Values by setting name: `routing.exclude`.
        package var settings: [String: String]
        /// Values of the properties of `Audio1`; nil when never set.
        package var muteMode: String?
        package var microphoneVolume: Double?
        package var applicationVolume: Double?

        package init(preferred: String? = nil, standard: String? = nil, settings: [String: String] = [:]) {
            self.preferred = preferred
            self.standard = standard
            self.settings = settings
        }
    }

    /// A failure to store preferences, with a remedy.
    package struct Failure: CustomStringConvertible {
        package let path: String
        package let error: SystemError

        package init(path: String, error: SystemError) {
            self.path = path
            self.error = error
        }

        package var description: String {
            "cannot keep preferences in \(path): \(error); make the directory writable for the daemon's user "
                + "(StateDirectory=btcall in the unit does) or set [daemon] stateDirectory"
        }
    }

    package let file: StateFile

    /// - Parameter directory: absolute; created when it does not exist.
    package init(directory: String) {
        file = StateFile("preferences.conf", in: directory)
    }

    /// The stored preferences; empty, with the reason in the log, when the file cannot be read.
    package func restored(_ logger: Logger) -> Preferences {
        do throws(ConfigurationError) {
            let (preferences, leftOut) = try load()
            for error in leftOut { logger.warning("a preference kept from before is ignored: \(error)") }
            return preferences
        } catch {
            logger.error("preferences are not restored: \(error)")
            return Preferences()
        }
    }

    /// Reads the stored preferences; an absent file has none.
    ///
    /// Invalid lines (edited by hand, or damaged) are left out. The settings' values are not checked here.
    ///
    /// - Returns: the contents of the file, and the mistakes of the lines left out.
    /// - Throws: `ConfigurationError` when the file cannot be read.
    package func load() throws(ConfigurationError) -> (preferences: Preferences, leftOut: [ConfigurationError]) {
        guard file.exists else { return (Preferences(), []) }
        var preferences = Preferences()
        let (entries, leftOut) = try ConfigurationReader.understoodEntries(ofFile: file.path)
        for entry in entries {
            switch (entry.section, entry.key) {
            case ("routing", "preferred"): preferences.preferred = entry.value
            case ("routing", "default"): preferences.standard = entry.value
            case ("routing", "replaced"): preferences.replaced = entry.value
            case ("audio", "muteMode"): preferences.muteMode = entry.value
            case ("audio", "microphoneVolume"): preferences.microphoneVolume = Double(entry.value)
            case ("audio", "applicationVolume"): preferences.applicationVolume = Double(entry.value)
            default:
                let words = entry.key.split(separator: ".", maxSplits: 1)
                let name = "\(entry.section).\(words.first ?? "")"
                // `exclude.2` continues a list that did not fit into `exclude`.
                if words.count > 1, let begun = preferences.settings[name] {
                    preferences.settings[name] = begun + ", " + entry.value
                } else {
                    preferences.settings[name] = entry.value
                }
            }
        }
        return (preferences, leftOut)
    }

    /// The file's text. A list that is too long for one line continues under further keys.
    package static func text(_ preferences: Preferences) -> String {
        var text = "[routing]\n"
        if let preferred = preferences.preferred { text += "preferred = \(preferred)\n" }
        if let standard = preferences.standard { text += "default = \(standard)\n" }
        if let replaced = preferences.replaced { text += "replaced = \(replaced)\n" }
        var section: Substring = "routing"
        var all = preferences.settings
        all["audio.muteMode"] = preferences.muteMode
        all["audio.microphoneVolume"] = preferences.microphoneVolume.map { "\($0)" }
        all["audio.applicationVolume"] = preferences.applicationVolume.map { "\($0)" }
        let settings = all.map { (name: $0.key.split(separator: ".", maxSplits: 1), value: $0.value) }
            .filter { $0.name.count == 2 }
            // The section that is already open comes first.
            .sorted { left, right in
                let (isLeftOpen, isRightOpen) = (left.name[0] == "routing", right.name[0] == "routing")
                if isLeftOpen != isRightOpen { return isLeftOpen }
                return (left.name[0], left.name[1]) < (right.name[0], right.name[1])
            }
        for setting in settings {
            if setting.name[0] != section {
                section = setting.name[0]
                text += "[\(section)]\n"
            }
            for (index, part) in parts(of: setting.value).enumerated() {
                text += "\(setting.name[1])\(index == 0 ? "" : ".\(index + 1)") = \(part)\n"
            }
        }
        return text
    }

    /// The elements of a list in groups that fit into a line.
    private static func parts(of value: String) -> [String] {
        let room = 150
        guard value.utf8.count > room else { return [value] }
        var parts: [String] = []
        // Splits by characters: a string as separator would link the regular expression library, 1.6 MB.
        for element in value.split(whereSeparator: { $0 == "," || $0 == " " }) {
            if let last = parts.last, last.utf8.count + element.utf8.count + 2 <= room {
                parts[parts.count - 1] = last + ", " + element
            } else {
                parts.append(String(element))
            }
        }
        return parts
    }
}
