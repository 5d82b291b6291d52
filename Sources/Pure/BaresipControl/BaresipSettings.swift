package import BluetoothTypes
package import ProgramSettings

/// Settings of `btcall-baresip` from its configuration file and its command line.
package struct BaresipSettings: FileSettings, Equatable {
    /// A key of the file. The command line has the same names as options.
    package enum Key: String, Sendable, CaseIterable {
        case control, account, video, logLevel

        package var accepted: String {
            switch self {
            case .control: BaresipAddress.accepted
            case .account: "an address of record, as sip:alice@example.org; leave it out for baresip's current account"
            case .video: "one of " + MediaDirection.allCases.map(\.rawValue).joined(separator: ", ")
            case .logLevel: "one of " + LogLevel.allCases.map(\.rawValue).joined(separator: ", ")
            }
        }
    }

    /// The least severe messages that are logged.
    package enum LogLevel: String, Sendable, CaseIterable {
        case trace, debug, info, notice, warning, error
    }

    package var control = BaresipAddress.standard
    /// Address of record of the account that dials; nil leaves it to baresip.
    package var account: String?
    /// Directions of the video of each call, which baresip does not report; `.off` reports calls without video.
    package var video = MediaDirection.off
    package var logLevel = LogLevel.info

    /// Maximum size of the configuration file in bytes.
    package static let mostBytes = 64 * 1024

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

// MARK: The file

extension BaresipSettings {
    /// - Throws: for the first invalid line, and for a repeated key.
    package init(reading bytes: [UInt8], file: String) throws(SettingsError) {
        self.init()
        try read(bytes, file: file)
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
