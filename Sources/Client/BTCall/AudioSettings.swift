import BTCallAPI
import ControlLoop
import DBus

/// How calls are to be heard and spoken on the devices of the board.
public struct AudioSettings: Hashable, Sendable {
    public enum Directions: String, Hashable, Sendable, CaseIterable {
        case playAndRecord
        /// The microphone stays closed where it opens by itself; the far end hears silence.
        case play
    }

    public enum Mode: String, Hashable, Sendable, CaseIterable {
        /// Echo and noise are taken out as the configuration says.
        case voice
        /// The microphone is left as it is.
        case media
    }

    public enum Override: String, Hashable, Sendable, CaseIterable {
        /// The policy decides which device carries the calls.
        case none
        /// The loudspeaker does, as with ``AudioDeviceManager/select(_:)``.
        case speakerphone
    }

    public var directions: Directions
    public var mode: Mode
    /// Devices that calls do not use, beside those that the configuration excludes.
    public var excluded: [DeviceChoice]
    /// What the sound card is asked for, 5…40; it takes the nearest that it can: ``Session/openedAudio()``.
    public var periodMilliseconds: Int
    public var override: Override

    /// Whether calls use headsets: `bluetooth` is not among those excluded.
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

/// A device of the board as it was opened for calls.
public struct OpenedAudio: Hashable, Sendable {
    public let device: DeviceChoice
    /// The period that the sound card has taken.
    public let periodMilliseconds: Double
    /// Frames per second.
    public let rate: Int
}

extension CallBridge {
    /// Lets this program say how calls are heard and spoken, each time before a device of the board is opened for them.
    ///
    /// One program at a time can. The daemon waits 200 ms for `configure`: a device that is opened then has what was said before, and the
    /// next one does not wait until `configure` has returned in time again. What cannot be is ignored as a whole, with a line in
    /// the daemon's log. What was said holds until something else is, or the configuration ends: with
    /// ``AudioSessionConfiguration/end()`` or the connection. It lasts over a restart of the daemon.
    ///
    /// - Parameter configure: gets the device that will be opened, and the settings in force to change them. It is called on the
    ///   bridge's own thread unless it belongs to an actor.
    /// - Throws: `.wrongState` when another program does so.
    public func configureAudioSession(
        _ configure: @escaping @Sendable (_ device: DeviceChoice, _ settings: inout AudioSettings) async -> Void
    ) async throws(BridgeError) -> AudioSessionConfiguration {
        AudioSessionConfiguration(try await connection.configureAudioSession(configure))
    }
}

extension Session {
    /// The device of the board that was opened last for calls, with what its sound card has taken; nil before the first one.
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

/// A program's place as the one that says how calls are heard.
public final class AudioSessionConfiguration: Sendable {
    private let object: RegisteredObject

    init(_ object: RegisteredObject) { self.object = object }

    /// The daemon's configuration alone decides from here on.
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
