package import DBus

/// One key of the daemon's configuration: an element of `Manager1.ListSettings`.
package struct SettingDescription: Hashable, Sendable {
    /// Time at which a change takes effect.
    package enum Effect: String, Hashable, Sendable, CaseIterable {
        case now
        /// When a headset's link or connection, or a sound card, is next opened.
        case reopen
        case nextCall
        /// Only when the daemon starts: the key cannot be changed on the bus.
        case restart
    }

    /// Source of the value.
    package enum Origin: String, Hashable, Sendable, CaseIterable {
        case `default`, file, runtime
    }

    /// Section and key: `routing.exclude`, `device.earpiece.playback`.
    package var key: String
    /// The value in force, as written in the file; empty when nothing is set.
    package var value: String
    package var defaultValue: String
    /// The accepted values, for people.
    package var accepted: String
    package var effect: Effect
    package var origin: Origin
    /// Meaning of the key, in one line.
    package var summary: String

    package init(
        key: String, value: String, defaultValue: String, accepted: String, effect: Effect, origin: Origin,
        summary: String
    ) {
        self.key = key
        self.value = value
        self.defaultValue = defaultValue
        self.accepted = accepted
        self.effect = effect
        self.origin = origin
        self.summary = summary
    }

    package init(_ fields: Fields) throws(APIError) {
        key = try fields.string("key")
        value = try fields.string("value")
        defaultValue = try fields.optionalString("default") ?? ""
        accepted = try fields.optionalString("accepted") ?? ""
        effect = try fields.word("effect", of: Effect.self)
        origin = try fields.word("origin", of: Origin.self)
        summary = try fields.optionalString("summary") ?? ""
    }

    /// The entries of one `a{sv}`.
    package var fields: [String: Value] {
        [
            "key": .string(key), "value": .string(value), "default": .string(defaultValue),
            "accepted": .string(accepted), "effect": .string(effect.rawValue), "origin": .string(origin.rawValue),
            "summary": .string(summary),
        ]
    }
}
