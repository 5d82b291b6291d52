/// Settings of a program that runs beside btcalld, from its configuration file and its command line.
package protocol FileSettings: Sendable {
    /// A key of the file: its name, or `section.name` in a file with sections.
    associatedtype Key: RawRepresentable<String> & CaseIterable & Hashable & Sendable

    /// Accepted sections; empty for a file without any.
    static var sections: [String] { get }

    /// Keys by a name of an earlier version, `section.name`. It works as before.
    static var formerKeys: [String: Key] { get }

    /// What to do instead of an unknown key; nil names those that are accepted.
    static func advice(on name: String) -> String?

    /// - Throws: for a value that the key does not accept.
    mutating func set(_ key: Key, _ value: String) throws(SettingsError)
}

extension FileSettings {
    package static var sections: [String] { [] }

    package static var formerKeys: [String: Key] { [:] }

    package static func advice(on name: String) -> String? { nil }

    /// Reads a configuration file: lines `key = value`, sections in brackets, and comments that begin with # or ;.
    ///
    /// - Parameters:
    ///   - bytes: UTF-8.
    ///   - file: its name, for messages.
    /// - Throws: for the first invalid line, and for a repeated key.
    package mutating func read(_ bytes: [UInt8], file: String) throws(SettingsError) {
        var section = ""
        var lines: [Key: Int] = [:]
        for (index, line) in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
            do throws(SettingsError) {
                try read(Self.trimmed(line), at: index + 1, &section, &lines)
            } catch {
                throw SettingsError("\(file):\(index + 1): \(error)")
            }
        }
    }

    private mutating func read(
        _ line: ArraySlice<UInt8>, at number: Int, _ section: inout String, _ lines: inout [Key: Int]
    ) throws(SettingsError) {
        guard let first = line.first, first != UInt8(ascii: "#"), first != UInt8(ascii: ";") else { return }
        guard let text = String(validating: line, as: UTF8.self), !line.contains(0) else {
            throw SettingsError("the line is not UTF-8; accepted: key = value")
        }
        if first == UInt8(ascii: "[") {
            section = try Self.section(text)
            return
        }
        guard let equals = line.firstIndex(of: UInt8(ascii: "=")) else {
            throw SettingsError("'\(text)' is no entry; accepted: key = value")
        }
        let name = String(decoding: Self.trimmed(line[..<equals]), as: UTF8.self)
        let fullName = Self.sections.isEmpty ? name : "\(section).\(name)"
        guard let key = Key(rawValue: fullName) ?? Self.formerKeys[fullName] else {
            let place = Self.sections.isEmpty ? name : "[\(section)] \(name)"
            throw SettingsError(Self.advice(on: name) ?? "\(place): there is no such key; accepted: \(Self.keys)")
        }
        if let earlier = lines[key] {
            throw SettingsError("\(name) is given a second time; keep one of this and line \(earlier)")
        }
        lines[key] = number
        try set(key, String(decoding: Self.trimmed(line[(equals + 1)...]), as: UTF8.self))
    }

    private static func section(_ text: String) throws(SettingsError) -> String {
        guard !sections.isEmpty else {
            throw SettingsError("\(text): this file has no sections; accepted: \(keys)")
        }
        let section = String(text.dropFirst().prefix { $0 != "]" })
        let isFormer = formerKeys.keys.contains { $0.hasPrefix("\(section).") }
        guard sections.contains(section) || isFormer, text == "[\(section)]" else {
            throw SettingsError("\(text) is no section; accepted: \(sections.joined(separator: ", "))")
        }
        return section
    }

    private static var keys: String {
        Key.allCases.map { key in
            guard !sections.isEmpty else { return key.rawValue }
            let parts = key.rawValue.split { $0 == "." }
            return "[\(parts[0])] \(parts[1])"
        }.joined(separator: ", ")
    }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let isSpace: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
        let rest = bytes.drop(while: isSpace)
        return rest[..<(rest.lastIndex { !isSpace($0) }.map { $0 + 1 } ?? rest.startIndex)]
    }
}
