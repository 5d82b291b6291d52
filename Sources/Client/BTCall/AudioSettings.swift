import BTCallAPI
import ControlLoop
import DBus

/// Settings for how calls use the board's own devices.
public struct AudioSettings: Hashable, Sendable {
    public enum Directions: String, Hashable, Sendable, CaseIterable {
        case playAndRecord
        /// The microphone stays closed where it is opened separately from playback; the far end hears silence.
        case play
    }

    public enum Mode: String, Hashable, Sendable, CaseIterable {
        /// Echo and noise are removed as the configuration says.
        case voice
        /// The microphone is left unprocessed.
        case media
    }

    public enum Override: String, Hashable, Sendable, CaseIterable {
        /// The policy decides which device carries the calls.
        case none
        /// The loudspeaker carries the calls, as with ``AudioDeviceManager/select(_:)``.
        case speakerphone
    }

    public var directions: Directions
    public var mode: Mode
    /// Devices that calls do not use, in addition to those excluded by the configuration.
    public var excluded: [DeviceChoice]
    /// Period requested from the sound card, 5…40; the card uses the nearest that it supports: ``Session/openedAudio()``.
    public var periodMilliseconds: Int
    public var override: Override

    /// Whether calls use headsets: true unless `bluetooth` is excluded.
    public var allowsBluetooth: Bool {
        get { !excluded.contains(.bluetooth) }
        set {
            excluded.removeAll { $0 == .bluetooth }
            if !newValue { excluded.append(.bluetooth) }
        }
    }

    init(_ description: AudioSettingsDescription) {
        directions =
            switch description.directions {
            case .playAndRecord: .playAndRecord
            case .play: .play
            }
        mode =
            switch description.mode {
            case .voice: .voice
            case .media: .media
            }
        override =
            switch description.override {
            case .none: .none
            case .speakerphone: .speakerphone
            }
        excluded = description.exclude.map { DeviceChoice(word: $0) }
        periodMilliseconds = description.period
    }

    var fields: [String: Value] {
        [
            "directions": .string(directions.rawValue), "mode": .string(mode.rawValue),
            "exclude": .strings(excluded.map(\.description)),
            "period": .uint32(UInt32(clamping: periodMilliseconds)), "override": .string(override.rawValue),
        ]
    }
}

/// A device of the board as btcalld opened it for calls.
public struct OpenedAudio: Hashable, Sendable {
    public let device: DeviceChoice
    /// Period that the sound card chose.
    public let periodMilliseconds: Double
    /// Sample rate in Hz.
    public let rate: Int
}

extension CallBridge {
    /// Lets this program set how calls use the board's devices, each time before btcalld opens one for them.
    ///
    /// One program at a time can do so. The daemon waits 200 ms for `configure`. If that is too slow, it opens the device
    /// with the previous settings, and does not wait for the next one until `configure` has returned in time again. Settings
    /// that are not accepted are ignored as a whole, with a line in the daemon's log. Settings hold until they are replaced
    /// or the configuration ends, with ``AudioSessionConfiguration/end()`` or the connection. The configuration survives a
    /// restart of the daemon.
    ///
    /// - Parameter configure: receives the device about to be opened and the settings in force, which it may change. It is
    ///   called on the bridge's own thread unless it belongs to an actor.
    /// - Throws: `.wrongState` while another program does so.
    public func configureAudioSession(
        _ configure: @escaping @Sendable (_ device: DeviceChoice, _ settings: inout AudioSettings) async -> Void
    ) async throws(BridgeError) -> AudioSessionConfiguration {
        AudioSessionConfiguration(try await connection.configureAudioSession(configure))
    }
}

extension Session {
    /// The board's device that btcalld opened last for calls, with the parameters its sound card chose; nil before the first
    /// one.
    public func openedAudio() async throws(BridgeError) -> OpenedAudio? {
        let name = BTCallName.Session.opened
        let reply = try await connection.property(BTCallPath.session, BTCallName.Interface.session, name)
        guard let values = reply.values[name]?.vardictValue, !values.isEmpty else { return nil }
        let opened = try decoding { () throws(APIError) in
            try OpenedAudioDescription(Fields(values, of: name))
        }
        return OpenedAudio(
            device: DeviceChoice(word: opened.device), periodMilliseconds: opened.period, rate: opened.rate)
    }
}

/// A program's registration as the one that sets how calls use the board's devices.
public final class AudioSessionConfiguration: Sendable {
    private let object: RegisteredObject

    init(_ object: RegisteredObject) { self.object = object }

    /// Ends the registration: only the daemon's configuration decides from now on.
    public func end() async throws(BridgeError) { try await object.end() }
}

extension BridgeConnection {
    /// Registers the object that the daemon calls: `org.btcall.AudioConfigurator1`.
    fileprivate func configureAudioSession(
        _ configure: @escaping @Sendable (DeviceChoice, inout AudioSettings) async -> Void
    ) async throws(BridgeError) -> RegisteredObject {
        let object = RegisteredObject(
            self,
            with: .init(
                path: BTCallPath.session, interface: BTCallName.Interface.session,
                register: BTCallName.Session.registerConfigurator,
                unregister: BTCallName.Session.unregisterConfigurator))
        let method = object.method(
            BTCallName.AudioConfigurator.configure, in: [("device", "s"), ("settings", "a{sv}")],
            out: [("settings", "a{sv}")]
        ) { call async throws(BusError) in
            let device = call.arguments[0].stringValue.flatMap { DeviceChoice($0) } ?? .none
            let fields = Fields(call.arguments[1].vardictValue ?? [:], of: BTCallName.AudioConfigurator.configure)
            do throws(APIError) {
                var settings = AudioSettings(try AudioSettingsDescription(fields, replacing: .init()))
                await configure(device, &settings)
                return [.vardict(settings.fields)]
            } catch {
                throw error.busError
            }
        }
        try await object.start(ExportedInterface(BTCallName.Interface.audioConfigurator, methods: [method]))
        return object
    }
}
