package import BTCallAPI
import BluetoothTypes
package import ControlLoop

/// The configuration in force: the file's, with what was set at run time over it.
///
/// A change is checked as a whole before anything of it holds, and setting the same value again changes nothing.
@ControlPlane
package final class Settings {
    /// Longest value in bytes: a list of more than a hundred headsets.
    private static let longestValue = 4096

    package private(set) var configuration: Configuration
    /// What was set at run time, by name (`routing.exclude`), as it would be written.
    package private(set) var runtime: [String: String] = [:]
    /// The configuration is another than before.
    package var onChange: (@ControlPlane (_ old: Configuration, _ new: Configuration) -> Void)?
    /// What was set at run time is other than before, and has to be kept.
    package var onRuntimeChange: (@ControlPlane () -> Void)?
    private let base: Configuration

    /// - Parameters:
    ///   - base: what the daemon was started with.
    ///   - kept: what was set at run time earlier, by name.
    package init(base: Configuration, kept: [String: String]) {
        self.base = base
        configuration = base
        for (name, value) in kept.sorted(by: { $0.key < $1.key }) {
            guard let key = Self.key(name), key.effect != .restart else {
                ignored.append("\(name): there is no such setting, or none that is kept")
                continue
            }
            do throws(ConfigurationValueError) {
                try key.apply(&configuration, value)
                runtime[name] = key.read(configuration)
            } catch {
                ignored.append("\(name): '\(value)' is not accepted any more; it is \(error.accepted)")
            }
        }
    }

    /// What of that is not understood any more, for the log.
    package private(set) var ignored: [String] = []

    /// Every key of every section, in the order of the example file; of headsets those that have a section.
    package var list: [SettingDescription] {
        let headsets = base.headsets.keys.sorted().map { ConfigurationSection.headset($0) }
        return (ConfigurationSection.all + headsets).flatMap { section in
            section.keys.map { describe($0, "\(section.settingPrefix).\($0.name)") }
        }
    }

    /// Sets a key until it is reset.
    ///
    /// - Parameters:
    ///   - name: section and key: `routing.exclude`.
    ///   - value: as it would be written in the file.
    /// - Throws: `invalidArgument` for a name or value that is not accepted, `notSupported` for a key that only the file
    ///   sets; nothing is changed then.
    package func set(_ name: String, _ value: String) throws(APIError) {
        let key = try Self.changeable(name)
        guard value.utf8.count <= Self.longestValue, value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw Self.refusal(name, value, key.accepted)
        }
        var changed = configuration
        do throws(ConfigurationValueError) {
            try key.apply(&changed, value)
        } catch {
            throw Self.refusal(name, value, error.accepted)
        }
        let text = key.read(changed)
        guard runtime[name] != text else { return }
        runtime[name] = text
        replace(changed, key)
    }

    /// Gives a key back to the file, or to its default. A key that was not set at run time stays as it is.
    ///
    /// - Throws: as `set`.
    package func reset(_ name: String) throws(APIError) {
        let key = try Self.changeable(name)
        guard runtime.removeValue(forKey: name) != nil else { return }
        var changed = configuration
        do throws(ConfigurationValueError) {
            try key.apply(&changed, key.read(base))
        } catch {
            throw APIError(.fault, "\(name): the value of the configuration file is not accepted any more")
        }
        replace(changed, key)
    }

    private func replace(_ new: Configuration, _ key: ConfigurationKey) {
        let old = configuration
        configuration = new
        onRuntimeChange?()
        if key.read(old) != key.read(new) { onChange?(old, new) }
    }

    private func describe(_ key: ConfigurationKey, _ name: String) -> SettingDescription {
        let value = key.read(configuration)
        let origin: SettingDescription.Origin =
            if runtime[name] != nil {
                .runtime
            } else if base.givenSettings.contains(name) || value != key.standard {
                .file
            } else {
                .default
            }
        return SettingDescription(
            key: name, value: value, defaultValue: key.standard, accepted: key.accepted, effect: key.effect,
            origin: origin, summary: key.summary)
    }

    private static func key(_ name: String) -> ConfigurationKey? {
        let words = name.split(separator: ".")
        let isHeadset = words.count == 3 && words[0] == "headset"
        let headset = isHeadset ? BluetoothAddress(words[1]).map { [ConfigurationSection.headset($0)] } : nil
        for section in headset ?? ConfigurationSection.all where name.hasPrefix(section.settingPrefix + ".") {
            let word = name.dropFirst(section.settingPrefix.count + 1)
            if let key = section.keys.first(where: { $0.name == word }) { return key }
        }
        return nil
    }

    private static func changeable(_ name: String) throws(APIError) -> ConfigurationKey {
        guard let key = key(name) else {
            let example = "routing.exclude"
            throw APIError(
                .invalidArgument,
                "there is no setting \"\(name)\"; accepted: section and key, for example \(example) (`btcall config`)")
        }
        guard key.effect != .restart else {
            throw APIError(
                .notSupported,
                "\(name) acts when btcalld starts: set it in the configuration file and restart btcalld")
        }
        return key
    }

    private static func refusal(_ name: String, _ value: String, _ accepted: String) -> APIError {
        APIError(.invalidArgument, "\(name): \"\(value)\" is not accepted; accepted: \(accepted)")
    }
}
