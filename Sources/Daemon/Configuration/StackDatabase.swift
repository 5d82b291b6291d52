import ControlLoop
import Glibc
import HandsFree
import Spelling

/// Known faults of the stack below btcalld, from stack.conf and the administrator's file.
package struct StackDatabase: Hashable, Sendable {
    package static let shippedFile = "/usr/share/btcall/stack.conf"
    package static let adminFile = "/etc/btcall/stack.conf"
    package static let format = 1

    package private(set) var faults: [StackFault] = []
    /// Names of rows that only switch off another one.
    private var switchedOff: [String] = []

    package init() {}

    /// Reads a file.
    ///
    /// - Throws: `ConfigurationError` for the first mistake, with its line.
    package init(parsing bytes: [UInt8], file: String) throws(ConfigurationError) {
        let (database, mistakes) = try Self.reading(bytes, file: file)
        if let mistake = mistakes.first { throw mistake }
        self = database
    }

    /// Reads a file to its end.
    ///
    /// - Returns: the valid rows, and the first mistake of each section.
    /// - Throws: `ConfigurationError` for a line that is neither a section nor an entry.
    package static func reading(
        _ bytes: [UInt8], file: String
    ) throws(ConfigurationError) -> (database: StackDatabase, mistakes: [ConfigurationError]) {
        var database = StackDatabase()
        var mistakes: [ConfigurationError] = []
        var sections: [(head: QuirksEntry, entries: [QuirksEntry])] = []
        for entry in try RowFile.entries(bytes, file: file, heads: "[stack] or [fault NAME]") {
            if entry.key == nil {
                sections.append((entry, []))
            } else if sections.last?.head.section == entry.section {
                sections[sections.count - 1].entries.append(entry)
            } else {
                mistakes.append(
                    StackFileReader(file: file).refused(entry, "stands in no section", "begin with [stack]"))
            }
        }
        let reader = StackFileReader(file: file)
        if sections.first?.head.section != "stack" {
            mistakes.append(
                ConfigurationError(
                    file: file, line: sections.first?.head.line, key: nil,
                    problem: "the file does not begin with [stack]",
                    accepted: "begin it with the lines [stack] and format = \(format)"))
        }
        for (index, section) in sections.enumerated() {
            do throws(ConfigurationError) {
                if index == 0, section.head.section == "stack" {
                    try reader.readHead(section.head, section.entries)
                } else {
                    let fault = try reader.fault(section.head, section.entries)
                    if let fault {
                        database.faults.append(fault)
                    } else {
                        database.switchedOff.append(reader.name(section.head))
                    }
                }
            } catch {
                mistakes.append(error)
            }
        }
        return (database, mistakes)
    }

    /// Combines the administrator's file with this one: a row replaces that of its name, or switches it off.
    package func overlaid(by overlay: StackDatabase) -> StackDatabase {
        var result = self
        let replaced = Set(overlay.faults.map(\.name) + overlay.switchedOff)
        result.faults.removeAll { replaced.contains($0.name) }
        result.faults += overlay.faults
        return result
    }

    /// Faults of a program as it runs here, in the order of the files.
    package func faults(
        of program: StackFault.Program, in subject: StackFault.Subject, packaged: () -> PackageVersion? = { nil }
    ) -> [StackFault] {
        faults.filter { $0.program == program && $0.concerns(subject, packaged: packaged) }
    }

    /// Reads a file; nil when it does not exist.
    ///
    /// - Throws: `ConfigurationError` for a file that cannot be read, or for the first mistake.
    package static func load(_ path: String) throws(ConfigurationError) -> StackDatabase? {
        let bytes: [UInt8]
        do throws(FileRefusal) {
            // One more byte shows that the file is too long.
            bytes = try ForeignFile.read(path, atMost: RowFile.mostBytes + 1, .leftOut)
        } catch {
            if case .failed(let failure) = error.reason, failure.code == ENOENT { return nil }
            throw ConfigurationError(
                file: path, line: nil, key: nil, problem: error.problem, accepted: "accepted: \(error.accepted)")
        }
        return try StackDatabase(parsing: bytes, file: path)
    }
}

/// Makes rows of stack.conf from its entries.
private struct StackFileReader {
    let file: String

    private enum Key: String, CaseIterable {
        case program, versions, releases, distribution, mended, alternateSetting, severity, symptom, remedy, command
        case reference, enabled

        var accepted: String {
            switch self {
            case .program: "kernel or bluetoothd"
            case .versions, .releases: "a list of versions: 5.67, 5.62 to 5.64, before 5.9"
            case .distribution: "a list of IDs as in /etc/os-release: debian, raspbian"
            case .mended: "a list of distributions with the first package without the fault: debian 5.66-1+deb12u3"
            case .alternateSetting: "a list of the USB alternate settings that mSBC goes by: 1, 3 or 6"
            case .severity: "warning or note"
            case .symptom, .remedy, .command, .reference: "a text of 1 to 180 bytes"
            case .enabled: "yes or no"
            }
        }
    }

    func refused(_ entry: QuirksEntry, _ problem: String, _ accepted: String) -> ConfigurationError {
        ConfigurationError(
            file: file, line: entry.line, key: "[\(entry.section)]" + (entry.key.map { " \($0)" } ?? ""),
            problem: problem, accepted: accepted)
    }

    /// The name in `[fault NAME]`.
    func name(_ head: QuirksEntry) -> String { String(head.section.dropFirst("fault ".count)) }

    func readHead(_ head: QuirksEntry, _ entries: [QuirksEntry]) throws(ConfigurationError) {
        var hasFormat = false
        for entry in entries {
            switch entry.key {
            case "format":
                guard entry.value == String(StackDatabase.format) else {
                    throw refused(
                        entry, "'\(entry.value)' is not accepted", "this btcall reads format \(StackDatabase.format)")
                }
                hasFormat = true
            case "version":
                guard (1...40).contains(entry.value.utf8.count) else {
                    throw refused(
                        entry, "'\(entry.value)' is not accepted", "it is 1 to 40 bytes, for people: 2026-11-28")
                }
            default: throw refused(entry, "there is no such key", "keys of [stack] are format, version")
            }
        }
        guard hasFormat else { throw refused(head, "has no format", "add format = \(StackDatabase.format)") }
    }

    /// - Returns: nil for a row that only switches off another one of its name.
    func fault(_ head: QuirksEntry, _ entries: [QuirksEntry]) throws(ConfigurationError) -> StackFault? {
        guard head.section.hasPrefix("fault ") else {
            throw refused(head, "there is no such section", "sections are [stack] and [fault NAME]")
        }
        let name = name(head)
        let isPlain = name.utf8.allSatisfy { "abcdefghijklmnopqrstuvwxyz0123456789-".utf8.contains($0) }
        guard (1...40).contains(name.utf8.count), isPlain else {
            throw refused(
                head, "'\(name)' is no name of a row",
                "it is 1 to 40 small letters, digits and hyphens: [fault crash-with-music-5-67]")
        }
        var fault = StackFault(name: name, line: head.line)
        var given: Set<Key> = []
        for entry in entries {
            guard let key = Key(rawValue: entry.key ?? "") else {
                let words = Key.allCases.map(\.rawValue)
                throw refused(
                    entry, "there is no such key",
                    Suggestion.question(for: entry.key ?? "", among: words)
                        ?? "keys of a row are \(words.joined(separator: ", "))")
            }
            guard given.insert(key).inserted else { throw refused(entry, "is given a second time", "keep one of both") }
            guard read(key, entry.value, into: &fault) else {
                throw refused(entry, "'\(entry.value)' is not accepted", "it is \(key.accepted)")
            }
        }
        if given == [.enabled], !fault.isEnabled { return nil }
        for (key, advice) in [
            (Key.program, "say whose fault it is: program = bluetoothd"),
            (.symptom, "say what goes wrong: symptom = crashes when a headset connects"),
            (.reference, "say where it is known from: reference = https://github.com/bluez/bluez/issues/90"),
        ] where !given.contains(key) {
            throw refused(head, "has no \(key.rawValue)", advice)
        }
        guard !fault.versions.isEmpty || !fault.releases.isEmpty else {
            throw refused(head, "has no versions", "say which have it: versions = 5.62 to 5.64, 5.67")
        }
        if fault.program == .bluetoothd, given.contains(.releases) || given.contains(.alternateSetting) {
            throw refused(
                head, "has a condition of a kernel, and program = bluetoothd",
                "releases and alternateSetting go with program = kernel")
        }
        return fault
    }

    /// - Returns: whether the value is accepted.
    private func read(_ key: Key, _ value: String, into fault: inout StackFault) -> Bool {
        switch key {
        case .program: return set(StackFault.Program(rawValue: value), &fault.program)
        case .severity: return set(StackFault.Severity(rawValue: value), &fault.severity)
        case .versions: return set(list(value) { VersionRange($0) }, &fault.versions)
        case .releases: return set(list(value) { VersionRange($0) }, &fault.releases)
        case .distribution: return set(list(value) { identifier($0) }, &fault.distributions)
        case .mended: return set(list(value) { mended($0) }, &fault.mended)
        case .alternateSetting:
            return set(list(value) { Int($0).flatMap { (1...6).contains($0) ? $0 : nil } }, &fault.alternateSettings)
        case .symptom: return set(text(value), &fault.symptom)
        case .remedy: return set(text(value), &fault.remedy)
        case .command: return set(text(value), &fault.command)
        case .reference: return set(text(value), &fault.reference)
        case .enabled: return set(["yes": true, "no": false][value.lowercased()], &fault.isEnabled)
        }
    }

    private func set<Value>(_ value: Value?, _ place: inout Value) -> Bool {
        guard let value else { return false }
        place = value
        return true
    }

    private func text(_ value: String) -> String? { (1...180).contains(value.utf8.count) ? value : nil }

    private func set(_ value: String?, _ place: inout String?) -> Bool {
        place = value
        return value != nil
    }

    /// Nil unless there is an element, and all are accepted.
    private func list<Element>(_ text: String, _ read: (String) -> Element?) -> [Element]? {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false).map { part in
            String(part.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
        }
        let elements = parts.compactMap(read)
        return elements.count == parts.count ? elements : nil
    }

    private func identifier(_ text: String) -> String? {
        let isPlain = text.utf8.allSatisfy { "abcdefghijklmnopqrstuvwxyz0123456789._-".utf8.contains($0) }
        return (1...40).contains(text.utf8.count) && isPlain ? text : nil
    }

    private func mended(_ text: String) -> StackFault.Mended? {
        let words = text.split(separator: " ").map { String($0) }
        guard words.count == 2, let distribution = identifier(words[0]), let version = PackageVersion(words[1]) else {
            return nil
        }
        return StackFault.Mended(distribution: distribution, version: version)
    }
}
