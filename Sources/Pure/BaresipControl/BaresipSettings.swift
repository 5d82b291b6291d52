package import BluetoothTypes
package import ProgramSettings

/// Settings of `btcall-baresip` from its configuration file and its command line.
package struct BaresipSettings: Equatable {
    /// A key of the file. The command line has the same names as options.
    package enum Key: String, Sendable, CaseIterable {
        case control, account, video, logLevel

        package var accepted: String {
            switch self {
            case .control: BaresipAddress.accepted
            case .account: "an address of record, as sip:alice@example.org; leave it out for baresip's current account"
            case .video: "one of " + MediaDirection.allCases.map(\.rawValue).joined(separator: ", ")
            case .logLevel: LogLevel.accepted
            }
        }
    }

    package var control = BaresipAddress.standard
    /// Address of record of the account that dials; nil leaves it to baresip.
    package var account: String?
    /// Directions of the video of each call, which baresip does not report; `.off` reports calls without video.
    package var video = MediaDirection.off
    package var logLevel = LogLevel.info

    package init() {}

    /// - Throws: for a value that the key does not accept.
    package mutating func set(_ key: Key, _ value: String) throws(SettingsError) {
        let refused = SettingsError("\(key.rawValue): '\(value)' is not accepted; it is \(key.accepted)")
        switch key {
        case .control:
            guard let address = BaresipAddress(value) else { throw refused }
            control = address
        case .account:
            let isPlain = value.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F } && value.utf8.count <= 200
            let isURI = value.hasPrefix("sip:") || value.hasPrefix("sips:")
            guard isPlain, isURI, value.contains("@") else { throw refused }
            account = value
        case .video:
            guard let direction = MediaDirection(rawValue: value) else { throw refused }
            video = direction
        case .logLevel:
            guard let level = LogLevel(rawValue: value) else { throw refused }
            logLevel = level
        }
    }
}

// MARK: The program

extension BaresipSettings: CompanionSettings {
    package static var program: String { "btcall-baresip" }

    package static var standardFile: String { "/etc/btcall/baresip.conf" }

    package static var options: [String: Key] {
        ["--control": .control, "--account": .account, "--log-level": .logLevel]
    }

    package static var usage: String {
        """
        usage: btcall-baresip [--config FILE] [--bus system|session|ADDRESS] [--control HOST:PORT] [--account ADDRESS]
                              [--log-level LEVEL] [--foreground]
               btcall-baresip --check [FILE]    reads a configuration and says what is wrong with it
               btcall-baresip --version
        Makes the calls of a running baresip those of btcalld: headsets ring, answer, hold, end and dial.
        The configuration is /etc/btcall/baresip.conf unless --config names another; without --config it may be absent.
        Options override the file. Without --bus the variable BTCALL_BUS names the bus, else it is the system's.
        --foreground logs to standard error, also under a service manager.
        """
    }

    /// btcalld had three of these keys, when it followed baresip itself.
    package static func advice(on name: String) -> String? {
        switch name {
        case "enabled": "enabled: there is no such key; `systemctl enable --now btcall-baresip` starts it"
        case "address", "port": "\(name): there is no such key; write both as control = ADDRESS:PORT"
        default: nil
        }
    }
}
