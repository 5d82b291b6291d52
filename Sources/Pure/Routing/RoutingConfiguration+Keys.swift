import BluetoothTypes
import Spelling

extension RoutingConfiguration {
    /// Sets one key from its text form in a configuration file.
    ///
    /// - Parameters:
    ///   - key: a key of docs/reference/Keys.md, verbatim, or with the unit in an earlier version's spelling.
    ///   - value: `true`, `false` (also yes, no, on, off, 1, 0), whole milliseconds, a device, a word, or a list of devices
    ///     or addresses separated by commas; spaces around each are ignored.
    /// - Throws: when the key is unknown or does not accept the value; nothing is changed then.
    package mutating func set(key: String, value: String) throws(RoutingConfigurationError) {
        guard
            let known = RoutingKey(rawValue: key) ?? UnitSpelling.current(of: key).flatMap({ RoutingKey(rawValue: $0) })
        else { throw .unknownKey(key) }
        guard assign(Self.trimmed(value[...]), to: known) else {
            throw .invalidValue(key: known, value: value)
        }
    }

    /// Returns the text form of a key's value, which `set(key:value:)` reads.
    package func value(of key: RoutingKey) -> String {
        switch key {
        case .exclude: exclude.map(\.description).joined(separator: ", ")
        case .headsetOrder: headsetOrder.map(\.description).joined(separator: ", ")
        case .newHeadset: newHeadset.rawValue
        case .jackGesture: jackGesture.rawValue
        case .systemDevice: systemDevice.description
        case .openAttempts: String(openAttempts)
        case .jackMasksEarpiece, .microphoneEnabled, .allowBluetoothA2DP, .inbandRing, .ringLocal, .manualAudio,
            .manualRendering, .releaseOnHold:
            Self.booleanPath(key).map { self[keyPath: $0] ? "true" : "false" } ?? ""
        case .settleBluetoothMilliseconds, .settleMaxMilliseconds, .flapWindowMilliseconds, .jackDebounceMilliseconds,
            .openTimeoutMilliseconds, .retryBaseMilliseconds,
            .penaltyBaseMilliseconds, .penaltyMaxMilliseconds, .startGraceMilliseconds, .reopenBridgeMilliseconds,
            .reopenPauseMilliseconds, .minDwellMilliseconds, .gapResetMilliseconds,
            .transferGuardMilliseconds, .silentLimitMilliseconds, .silentResumeMilliseconds, .silentCloseMilliseconds,
            .mediaRestoreMilliseconds:
            Self.durationPath(key).map { String(self[keyPath: $0].milliseconds) } ?? ""
        }
    }

    /// Default value of the key.
    package static func defaultValue(of key: RoutingKey) -> String {
        RoutingConfiguration().value(of: key)
    }

    private mutating func assign(_ text: String, to key: RoutingKey) -> Bool {
        switch key.type {
        case .boolean:
            guard let path = Self.booleanPath(key), let value = Self.boolean(text) else { return false }
            self[keyPath: path] = value
        case .milliseconds:
            guard let path = Self.durationPath(key), let value = Int64(text), 0...3_600_000 ~= value else {
                return false
            }
            self[keyPath: path] = .milliseconds(value)
        case .count:
            guard let value = Int(text), 1...100 ~= value else { return false }
            openAttempts = value
        case .device:
            guard let device = AudioDevice(parsing: text) else { return false }
            systemDevice = device
        case .deviceList:
            guard let devices = Self.list(text, AudioDevice.init(parsing:)), !devices.contains(.none) else {
                return false
            }
            exclude = devices
        case .addressList:
            guard let addresses = Self.list(text, { BluetoothAddress($0) }) else { return false }
            headsetOrder = addresses
        case .words:
            switch key {
            case .newHeadset:
                guard let word = NewHeadset(rawValue: text) else { return false }
                newHeadset = word
            default:
                guard let word = JackGesture(rawValue: text) else { return false }
                jackGesture = word
            }
        }
        return true
    }

    private static func booleanPath(_ key: RoutingKey) -> WritableKeyPath<RoutingConfiguration, Bool>? {
        switch key {
        case .jackMasksEarpiece: \.jackMasksEarpiece
        case .microphoneEnabled: \.microphoneEnabled
        case .allowBluetoothA2DP: \.allowBluetoothA2DP
        case .inbandRing: \.inbandRing
        case .ringLocal: \.ringLocal
        case .manualAudio: \.manualAudio
        case .manualRendering: \.manualRendering
        case .releaseOnHold: \.releaseOnHold
        default: nil
        }
    }

    private static func durationPath(_ key: RoutingKey) -> WritableKeyPath<RoutingConfiguration, Duration>? {
        switch key {
        case .settleBluetoothMilliseconds: \.settleBluetooth
        case .settleMaxMilliseconds: \.settleMax
        case .flapWindowMilliseconds: \.flapWindow
        case .jackDebounceMilliseconds: \.jackDebounce
        case .openTimeoutMilliseconds: \.openTimeout
        case .retryBaseMilliseconds: \.retryBase
        case .penaltyBaseMilliseconds: \.penaltyBase
        case .penaltyMaxMilliseconds: \.penaltyMax
        case .startGraceMilliseconds: \.startGrace
        case .reopenBridgeMilliseconds: \.reopenBridge
        case .reopenPauseMilliseconds: \.reopenPause
        case .minDwellMilliseconds: \.minDwell
        case .gapResetMilliseconds: \.gapReset
        case .transferGuardMilliseconds: \.transferGuard
        case .silentLimitMilliseconds: \.silentLimit
        case .silentResumeMilliseconds: \.silentResume
        case .silentCloseMilliseconds: \.silentClose
        case .mediaRestoreMilliseconds: \.mediaRestore
        default: nil
        }
    }

    private static func boolean(_ text: String) -> Bool? {
        switch text {
        case "true", "yes", "on", "1": true
        case "false", "no", "off", "0": false
        default: nil
        }
    }

    private static func list<Element>(_ text: String, _ read: (String) -> Element?) -> [Element]? {
        guard !text.isEmpty else { return [] }
        var elements: [Element] = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            guard let element = read(trimmed(part)) else { return nil }
            elements.append(element)
        }
        return elements
    }

    private static func trimmed(_ text: Substring) -> String {
        let isSpace = { (character: Character) in character == " " || character == "\t" }
        var rest = text.drop(while: isSpace)
        while let last = rest.last, isSpace(last) { rest.removeLast() }
        return String(rest)
    }
}
