import BTCallAPI
import ControlLoop
import DBus

/// One key of the bridge's configuration.
public struct Setting: Hashable, Sendable {
    /// Time at which a change takes effect.
    public enum Effect: String, Hashable, Sendable, CaseIterable {
        case now
        /// When a headset's link or connection, or a sound card, is next opened.
        case reopen
        case nextCall
        /// When btcalld starts: only the configuration file sets it.
        case restart
    }

    /// Source of the value.
    public enum Origin: String, Hashable, Sendable, CaseIterable {
        case `default`, file, runtime
    }

    /// Section and key: `routing.exclude`.
    public let key: String
    /// The value in force, as the file writes it; empty when nothing is set.
    public let value: String
    public let defaultValue: String
    /// The accepted values, for people.
    public let accepted: String
    public let effect: Effect
    public let origin: Origin
    /// Meaning of the key, in one line.
    public let summary: String

    init(_ description: SettingDescription) {
        key = description.key
        value = description.value
        defaultValue = description.defaultValue
        accepted = description.accepted
        effect = Effect(description.effect)
        origin = Origin(description.origin)
        summary = description.summary
    }
}

extension Setting.Effect {
    init(_ effect: SettingDescription.Effect) {
        switch effect {
        case .now: self = .now
        case .reopen: self = .reopen
        case .nextCall: self = .nextCall
        case .restart: self = .restart
        }
    }
}

extension Setting.Origin {
    init(_ origin: SettingDescription.Origin) {
        switch origin {
        case .default: self = .default
        case .file: self = .file
        case .runtime: self = .runtime
        }
    }
}

extension CallBridge {
    /// Every key of the configuration, in the order of the example file.
    public func settings() async throws(BridgeError) -> [Setting] { try await connection.settings() }

    /// Sets a key until it is reset. Kept over restarts; overrides the configuration file.
    ///
    /// - Throws: `.invalidArgument` for an unknown key or a value that is not accepted, `.notSupported` for a key that only
    ///   the file sets.
    public func setSetting(_ key: String, to value: String) async throws(BridgeError) {
        try await connection.setSetting(key, to: value)
    }

    /// Resets a key to the value in the configuration file, or to its default.
    public func resetSetting(_ key: String) async throws(BridgeError) {
        _ = try await manager(BTCallName.Manager.resetSetting, [.string(key)])
    }

    /// Forgets the learnt codec failures of a headset: btcalld tries all codecs again from the next audio link on.
    ///
    /// - Parameter address: `AA:BB:CC:DD:EE:FF`.
    /// - Throws: `.unavailable` for an unknown headset, `.invalidArgument` when `address` is not an address.
    public func forgetCodecs(of address: String) async throws(BridgeError) {
        _ = try await manager(BTCallName.Manager.forgetCodecs, [.string(address)])
    }

    private func manager(_ member: String, _ arguments: [Value] = []) async throws(BridgeError) -> [Value] {
        try await connection.request(BTCallPath.manager, BTCallName.Interface.manager, member, arguments)
    }
}

extension BridgeConnection {
    func settings() async throws(BridgeError) -> [Setting] {
        let reply = try await request(
            BTCallPath.manager, BTCallName.Interface.manager, BTCallName.Manager.listSettings)
        return try decoding { () throws(APIError) in
            var settings: [Setting] = []
            for element in try Fields(["settings": reply.first ?? ""], of: "the settings").dictionaries("settings") {
                settings.append(Setting(try SettingDescription(element)))
            }
            return settings
        }
    }

    func setSetting(_ key: String, to value: String) async throws(BridgeError) {
        try await request(
            BTCallPath.manager, BTCallName.Interface.manager, BTCallName.Manager.setSetting,
            [.string(key), .string(value)])
    }
}
