package import BTCallAPI
import BluetoothTypes
package import ControlLoop
import Spelling

/// The present configuration: the file's values, overridden by those set at run time.
///
/// A change is checked completely before any part of it applies; setting the same value again changes nothing.
@ControlPlane
package final class Settings {
    /// Longest value in bytes: room for a list of more than a hundred headsets.
    private static let longestValue = 4096

    package private(set) var configuration: Configuration
    /// Values set at run time by name (`routing.exclude`), as written in the file.
    package private(set) var runtime: [String: String] = [:]
    /// The configuration has changed.
    package let changes = Signal<(old: Configuration, new: Configuration)>()
    /// The values set at run time have changed, and must be stored.
    package let runtimeChanges = Signal<Void>()
    /// The reason why a key with this condition cannot be changed now; nil: it can.
    package var obstacle: (@ControlPlane (ConfigurationKey.Condition, _ name: String) -> APIError?)?
    /// `dropped` has changed.
    package let droppedChanges = Signal<Void>()
    private let base: Configuration
    private let writer: StateWriter?

    /// - Parameters:
    ///   - base: the configuration at the start of the daemon.
    ///   - kept: values set at run time before the start, by name.
    ///   - writer: writes the values to disk; nil: they are not stored.
    package init(base: Configuration, kept: [String: String], writer: StateWriter? = nil) {
        self.base = base
        self.writer = writer
        configuration = base
        for (given, value) in kept.sorted(by: { $0.key < $1.key }) {
            guard let (key, name) = Self.key(given), key.effect != .restart else {
                ignored.append(
                    Self.moved(given) ?? "\(given): no such setting, or one that only the file sets")
                continue
            }
            if name != given {
                // A setting stored under both names was last set under the present one.
                guard runtime[name] == nil else { continue }
                renamed.append("\(given) is called \(name) now, and kept as that")
            }
            do throws(ConfigurationValueError) {
                try key.checkAtRuntime(value, base)
                try key.apply(&configuration, value)
                runtime[name] = key.read(configuration)
            } catch {
                ignored.append("\(given): '\(value)' is no longer accepted; accepted: \(error.accepted)")
                dropped.insert(name)
            }
        }
    }

    /// Stored values that are no longer accepted, for the log.
    package private(set) var ignored: [String] = []
    /// Stored values with a name from an earlier version, for the log.
    package private(set) var renamed: [String] = []
    /// A program has used a key's name from an earlier version.
    package let formerNames = Signal<(given: String, current: String)>()
    /// Settings whose stored values are no longer accepted, and that have been neither set nor reset since.
    package private(set) var dropped: Set<String> = []

    /// Returns when everything set so far has been written, or its writing has failed.
    package func settle() async { await writer?.settle() }

    /// Every key of every section, in the order of the example file; for headsets, those with a section.
    package var list: [SettingDescription] {
        let headsets = base.headsets.keys.sorted().map { ConfigurationSection.headset($0) }
        return (ConfigurationSection.all + headsets).flatMap { section in
            section.keys.map { describe($0, "\(section.settingPrefix).\($0.name)") }
        }
    }

    /// The present value, as written in the file; empty when it is not set or the key does not exist.
    package func value(of name: String) -> String { Self.key(name)?.key.read(configuration) ?? "" }

    /// Sets a key until it is reset.
    ///
    /// - Parameters:
    ///   - name: section and key: `routing.exclude`.
    ///   - value: as written in the file.
    /// - Throws: `invalidArgument` for an invalid name or value, `notSupported` for a key that only the file sets; nothing
    ///   is changed then.
    package func set(_ name: String, _ value: String) throws(APIError) {
        var changed = configuration
        let (key, name) = try apply(name, value, to: &changed)
        settleDropped([name])
        let text = key.read(changed)
        guard runtime[name] != text else { return }
        runtime[name] = text
        replace(changed, [key])
    }

    /// Sets several keys until they are reset, all or none. Keys that already have the value are left unchanged.
    ///
    /// - Throws: as `set`.
    package func set(all values: [(name: String, value: String)]) throws(APIError) {
        var changed = configuration
        var keys: [ConfigurationKey] = []
        var texts: [String: String] = [:]
        for (given, value) in values {
            let (key, name) = try apply(given, value, to: &changed)
            let text = key.read(changed)
            guard text != key.read(configuration) else { continue }
            keys.append(key)
            texts[name] = text
        }
        settleDropped(values.map { $0.name })
        guard !keys.isEmpty else { return }
        runtime.merge(texts) { $1 }
        replace(changed, keys)
    }

    /// Empties keys, whatever their conditions; after a reset the file's value applies again.
    ///
    /// - Parameter names: keys that accept an empty value.
    package func empty(_ names: [String]) {
        var changed = configuration
        var keys: [ConfigurationKey] = []
        var kept = runtime
        for name in names {
            guard let (key, _) = Self.key(name), !key.read(configuration).isEmpty else { continue }
            do throws(ConfigurationValueError) {
                try key.apply(&changed, "")
            } catch {
                continue  // The key must always have a value.
            }
            keys.append(key)
            kept[name] = key.read(base).isEmpty ? nil : ""
        }
        guard !keys.isEmpty else { return }
        runtime = kept
        replace(changed, keys)
    }

    /// Checks a value, and that the key may be changed now.
    ///
    /// - Returns: the key with its present name.
    private func apply(
        _ given: String, _ value: String, to changed: inout Configuration
    ) throws(APIError) -> (key: ConfigurationKey, name: String) {
        let (key, name) = try changeable(given)
        guard value.utf8.count <= Self.longestValue, value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw Self.refusal(name, value, key.accepted)
        }
        do throws(ConfigurationValueError) {
            try key.checkAtRuntime(value, base)
            try key.apply(&changed, value)
        } catch {
            throw Self.refusal(name, value, error.accepted)
        }
        try permit(key, name, changed)
        return (key, name)
    }

    private func permit(_ key: ConfigurationKey, _ name: String, _ changed: Configuration) throws(APIError) {
        guard key.read(changed) != key.read(configuration), let error = obstacle?(key.condition, name) else { return }
        throw error
    }

    /// Resets a key to the file's value, or to its default. A key not set at run time is left unchanged.
    ///
    /// - Throws: as `set`.
    package func reset(_ name: String) throws(APIError) {
        let (key, name) = try changeable(name)
        settleDropped([name])
        guard runtime[name] != nil else { return }
        var changed = configuration
        do throws(ConfigurationValueError) {
            try key.apply(&changed, key.read(base))
        } catch {
            throw APIError(.fault, "\(name): the value of the configuration file is no longer accepted")
        }
        try permit(key, name, changed)
        runtime[name] = nil
        replace(changed, [key])
    }

    private func settleDropped(_ names: [String]) {
        let left = dropped.subtracting(names)
        guard left != dropped else { return }
        dropped = left
        droppedChanges.send()
    }

    private func replace(_ new: Configuration, _ keys: [ConfigurationKey]) {
        let old = configuration
        configuration = new
        runtimeChanges.send()
        if keys.contains(where: { $0.read(old) != $0.read(new) }) { changes.send((old, new)) }
    }

    private func describe(_ key: ConfigurationKey, _ name: String) -> SettingDescription {
        let isGiven = base.givenSettings.contains(name)
        let origin: SettingDescription.Origin = runtime[name] != nil ? .runtime : isGiven ? .file : .default
        // A default may depend on other settings: without a loudspeaker the board rings on its earpiece.
        return SettingDescription(
            key: name, value: key.read(configuration), defaultValue: isGiven ? key.standard : key.read(base),
            accepted: key.acceptedAtRuntime, effect: key.effect, origin: origin, summary: key.summary)
    }

    /// - Returns: the key with its present name.
    private static func key(_ name: String) -> (key: ConfigurationKey, name: String)? {
        let words = name.split(separator: ".")
        let isHeadset = words.count == 3 && words[0] == "headset"
        let headset = isHeadset ? BluetoothAddress(words[1]).map { [ConfigurationSection.headset($0)] } : nil
        for section in headset ?? ConfigurationSection.all where name.hasPrefix(section.settingPrefix + ".") {
            let word = name.dropFirst(section.settingPrefix.count + 1)
            if let key = section.key(word) { return (key, "\(section.settingPrefix).\(key.name)") }
        }
        return nil
    }

    /// What to do instead of setting a key whose section another program replaced; nil for other names.
    private static func moved(_ name: String) -> String? {
        ConfigurationSection.moved[String(name.prefix { $0 != "." })].map { "\(name): \($0.problem): \($0.instead)" }
    }

    private func changeable(_ name: String) throws(APIError) -> (key: ConfigurationKey, name: String) {
        guard let (key, current) = Self.key(name) else {
            if let moved = Self.moved(name) { throw APIError(.invalidArgument, moved) }
            let names = ConfigurationSection.all.flatMap { section in
                section.keys.map { (word: "\(section.settingPrefix).\($0.name)", key: $0.name) }
            }
            let near = Suggestion.words(near: name, among: names.map { ($0.word, [$0.word, $0.key]) })
            let question = near.isEmpty ? "" : " (did you mean \(near.joined(separator: " or "))?)"
            let accepted = "section and key, for example routing.exclude (`btcall config`)"
            throw APIError(.invalidArgument, "there is no setting \"\(name)\"\(question); accepted: \(accepted)")
        }
        guard key.effect != .restart else {
            throw APIError(
                .notSupported,
                "\(current) acts when btcalld starts: set it in the configuration file and restart btcalld")
        }
        if current != name { formerNames.send((name, current)) }
        return (key, current)
    }

    private static func refusal(_ name: String, _ value: String, _ accepted: String) -> APIError {
        APIError(.invalidArgument, "\(name): \"\(value)\" is not accepted; accepted: \(accepted)")
    }
}
