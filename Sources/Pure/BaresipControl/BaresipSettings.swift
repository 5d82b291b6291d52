/// Settings of `btcall-baresip` from its configuration file and its command line.
package struct BaresipSettings: Equatable, Sendable {
    /// A key of the file. The command line has the same names as options.
    package enum Key: String, Sendable, CaseIterable {
        case control, account, logLevel

        package var accepted: String {
            switch self {
            case .control: BaresipAddress.accepted
            case .account: "an address of record, as sip:alice@example.org; leave it out for baresip's current account"
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
    package var logLevel = LogLevel.info

    /// Maximum size of the configuration file in bytes.
    package static let mostBytes = 64 * 1024

    package init() {}

    /// - Throws: for a value that the key does not accept.
    package mutating func set(_ key: Key, _ value: String) throws(BaresipSettingsError) {
        let refused = BaresipSettingsError("\(key.rawValue): '\(value)' is not accepted; it is \(key.accepted)")
        switch key {
        case .control:
            guard let address = BaresipAddress(value) else { throw refused }
            control = address
        case .account:
            let isPlain = value.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F } && value.utf8.count <= 200
            let isURI = value.hasPrefix("sip:") || value.hasPrefix("sips:")
            guard isPlain, isURI, value.contains("@") else { throw refused }
            account = value
        case .logLevel:
            guard let level = LogLevel(rawValue: value) else { throw refused }
            logLevel = level
        }
    }
}

/// Error in a configuration file or a command line, and what is accepted.
package struct BaresipSettingsError: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}

// MARK: The file

extension BaresipSettings {
    /// Reads a configuration file: lines `key = value`, empty lines, and comments that begin with # or ;.
    ///
    /// - Parameters:
    ///   - bytes: UTF-8.
    ///   - file: its name, for messages.
    /// - Throws: for the first invalid line, and for a repeated key.
    package init(reading bytes: [UInt8], file: String) throws(BaresipSettingsError) {
        self.init()
        var lines: [Key: Int] = [:]
        let text = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (index, line) in text.enumerated() {
            do throws(BaresipSettingsError) {
                try read(Self.trimmed(line), at: index + 1, &lines)
            } catch {
                throw BaresipSettingsError("\(file):\(index + 1): \(error)")
            }
        }
    }

    private mutating func read(
        _ line: ArraySlice<UInt8>, at number: Int, _ lines: inout [Key: Int]
    ) throws(BaresipSettingsError) {
        guard let first = line.first, first != UInt8(ascii: "#"), first != UInt8(ascii: ";") else { return }
        guard let text = String(validating: line, as: UTF8.self), !line.contains(0) else {
            throw BaresipSettingsError("the line is not UTF-8; accepted: key = value")
        }
        if first == UInt8(ascii: "[") {
            throw BaresipSettingsError("\(text): this file has no sections; accepted: \(Self.keys)")
        }
        guard let equals = line.firstIndex(of: UInt8(ascii: "=")) else {
            throw BaresipSettingsError("'\(text)' is no entry; accepted: key = value")
        }
        let name = String(decoding: Self.trimmed(line[..<equals]), as: UTF8.self)
        guard let key = Key(rawValue: name) else { throw BaresipSettingsError(Self.advice(on: name)) }
        if let earlier = lines[key] {
            throw BaresipSettingsError("\(name) is given a second time; keep one of this and line \(earlier)")
        }
        lines[key] = number
        try set(key, String(decoding: Self.trimmed(line[(equals + 1)...]), as: UTF8.self))
    }

    /// Advice for a missing key. btcalld had three of them, when it followed baresip itself.
    private static func advice(on name: String) -> String {
        switch name {
        case "enabled": "enabled: there is no such key; `systemctl enable --now btcall-baresip` starts it"
        case "address", "port": "\(name): there is no such key; write both as control = ADDRESS:PORT"
        default: "\(name): there is no such key; accepted: \(keys)"
        }
    }

    private static var keys: String { Key.allCases.map(\.rawValue).joined(separator: ", ") }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let isSpace: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
        let rest = bytes.drop(while: isSpace)
        return rest[..<(rest.lastIndex { !isSpace($0) }.map { $0 + 1 } ?? rest.startIndex)]
    }
}
