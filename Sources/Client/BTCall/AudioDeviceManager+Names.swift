// Names that voice kits have on this object; here they belong to other objects or are configuration keys.
extension AudioDeviceManager {
    /// Makes calls get audio only while the session is active: ``Session/setManual(_:)`` with true.
    public func useManualAudioForCallKit() async throws(BridgeError) {
        try await Session(connection: connection).setManual(true)
    }

    /// Gives calls their audio until the hold is released: ``Session/activate()``.
    public func activeCallKitAudioSession() async throws(BridgeError) -> Hold {
        try await Session(connection: connection).activate()
    }

    /// Takes the audio away from the calls, which stay up: ``Session/deactivate()``.
    ///
    /// - Throws: `.wrongState` when this connection does not hold the session.
    public func deactiveCallKitAudioSession() async throws(BridgeError) {
        try await Session(connection: connection).deactivate()
    }

    /// The devices that never carry a call, even when chosen: the setting `routing.exclude`.
    ///
    /// - Throws: `.failed` for a device word that this version does not know.
    public func excludedAudioDevices() async throws(BridgeError) -> [DeviceChoice] {
        let list = try await connection.setting(SettingKey.exclude).value
        var devices: [DeviceChoice] = []
        for word in list.split(whereSeparator: { $0 == "," || $0 == " " }) {
            guard let device = DeviceChoice(String(word)) else {
                throw BridgeError(.failed, "btcalld excludes \"\(word)\", which this library does not know")
            }
            devices.append(device)
        }
        return devices
    }

    /// Sets ``excludedAudioDevices()``: kinds, or single headsets. A call on one of them leaves it at once. Kept over
    /// restarts.
    ///
    /// - Throws: `.invalidArgument` for `.none`.
    public func setExcludedAudioDevices(_ devices: [DeviceChoice]) async throws(BridgeError) {
        guard !devices.contains(.none) else {
            throw BridgeError(
                .invalidArgument, "none is no device to exclude; accepted: other devices, or an empty list for nothing")
        }
        let words = devices.map(\.description).joined(separator: ", ")
        try await connection.setSetting(SettingKey.exclude, to: words)
    }
}

extension DeviceChoice {
    /// Reads a device word as ``init(_:)`` does.
    ///
    /// - Throws: `.invalidArgument` for anything else; the message lists the accepted words.
    public init(parsing text: String) throws(BridgeError) {
        guard let choice = DeviceChoice(text) else {
            throw BridgeError(.invalidArgument, "\"\(text)\" is no device; accepted: \(DeviceChoice.accepted)")
        }
        self = choice
    }
}
