import BluetoothTypes
import HandsFree
import Spelling

extension TalkRow {
    /// Most patterns for a press or a release.
    package static let mostPatterns = 4
    /// Most bytes of a reference; about the length of a line.
    package static let longestText = 180

    /// Keys of a row beside its conditions.
    private enum Key: String, CaseIterable {
        case `protocol`, press, release, alternating, service, characteristic, keepsLink, reference, enabled

        /// Accepted values, for messages.
        var accepted: String {
            switch self {
            case .protocol: "at, link, serial or notification"
            case .press, .release:
                "1 to \(mostPatterns) patterns: text such as +PTT=P, bytes such as 0x01, bytes with a mask such as "
                    + "0x01/0x01; with protocol = at: +XEVENT=TALK,1, +CKPD=200, +BVRA=1"
            case .alternating, .keepsLink, .enabled: "yes or no"
            case .service, .characteristic: "FFE1, or all 36 characters of a UUID"
            case .reference: "a text of 1 to \(longestText) bytes"
            }
        }
    }

    /// Reads the keys of one section.
    init(name: String, line: Int, entries: [QuirksEntry], origin: Origin) throws(QuirksError) {
        var conditions: [TalkCondition] = []
        var given: [Key: QuirksEntry] = [:]
        for entry in entries {
            let word = entry.key ?? ""
            if let key = TalkCondition.Key(rawValue: word) {
                guard !conditions.contains(where: { $0.key == key }) else {
                    throw entry.refused("is given a second time", "keep one of both")
                }
                guard let condition = TalkCondition(key, entry.value) else {
                    throw entry.refused("'\(entry.value)' is not accepted", "it is \(key.accepted)")
                }
                conditions.append(condition)
            } else if let key = Key(rawValue: word) {
                guard given[key] == nil else { throw entry.refused("is given a second time", "keep one of both") }
                given[key] = entry
            } else {
                let words = TalkCondition.Key.allCases.map(\.rawValue) + Key.allCases.map(\.rawValue)
                throw entry.refused(
                    "there is no such key",
                    Suggestion.question(for: word, among: words)
                        ?? "keys of a row are \(words.joined(separator: ", "))")
            }
        }
        let section = Section(name: name, line: line, given: given)
        guard !conditions.isEmpty else {
            throw section.missing(
                "says no device",
                "give one or more of \(TalkCondition.Key.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        let reading = try section.reading()
        guard let reference = given[.reference]?.value else {
            throw section.missing("has no reference", "say where it is known from: reference = kv4p-ht #30")
        }
        guard (1...Self.longestText).contains(reference.utf8.count) else { throw section.refused(.reference) }
        var keepsLink = try section.flag(.keepsLink)
        if reading == .link {
            guard keepsLink != true else {
                throw section.refused(
                    .keepsLink, "is not possible with protocol = link", "remove it: the link is the key")
            }
            keepsLink = false
        }
        self.init(
            name: name, origin: origin, line: line, conditions: conditions, reading: reading,
            keepsLink: keepsLink ?? true, reference: reference)
        isEnabled = try section.flag(.enabled) ?? true
    }

    /// The keys of one section.
    private struct Section {
        let name: String
        let line: Int
        let given: [Key: QuirksEntry]

        func missing(_ problem: String, _ accepted: String) -> QuirksError {
            QuirksError(line: line, key: "[key \(name)]", problem: problem, accepted: accepted)
        }

        func refused(_ key: Key, _ problem: String? = nil, _ accepted: String? = nil) -> QuirksError {
            guard let entry = given[key] else { return missing("has no \(key.rawValue)", "it is \(key.accepted)") }
            return entry.refused(
                problem ?? "'\(entry.value)' is not accepted", accepted ?? "it is \(key.accepted)")
        }

        /// - Returns: nil when the key is not given.
        func flag(_ key: Key) throws(QuirksError) -> Bool? {
            guard let entry = given[key] else { return nil }
            switch entry.value.lowercased() {
            case "yes": return true
            case "no": return false
            default: throw refused(key)
            }
        }

        func reading() throws(QuirksError) -> Reading {
            guard let word = given[.protocol]?.value, let talkProtocol = TalkProtocol(rawValue: word) else {
                throw refused(.protocol)
            }
            switch talkProtocol {
            case .at:
                try forbid([.service, .characteristic], talkProtocol)
                let (press, release) = try patterns { ATTalkPattern($0) }
                try distinct(press, release) { $0.overlaps($1) || $1.overlaps($0) }
                return .at(press: press, release: release)
            case .link:
                try forbid([.press, .release, .alternating, .service, .characteristic], talkProtocol)
                return .link
            case .serial:
                try forbid([.characteristic], talkProtocol)
                let service = try uuid(.service) ?? .serialPort
                let (press, release) = try patterns { TalkPattern($0) }
                try distinct(press, release) { $0.contains($1) || $1.contains($0) }
                return .serial(service: service, press: press, release: release)
            case .notification:
                guard let service = try uuid(.service) else { throw refused(.service) }
                guard let characteristic = try uuid(.characteristic) else { throw refused(.characteristic) }
                let (press, release) = try patterns { TalkPattern($0) }
                try distinct(press, release) { $0.overlaps($1) }
                return .notification(
                    service: service, characteristic: characteristic, press: press, release: release)
            }
        }

        private func forbid(_ keys: [Key], _ talkProtocol: TalkProtocol) throws(QuirksError) {
            for key in keys where given[key] != nil {
                throw refused(key, "is not possible with protocol = \(talkProtocol.rawValue)", "remove it")
            }
        }

        private func uuid(_ key: Key) throws(QuirksError) -> ServiceUUID? {
            guard let entry = given[key] else { return nil }
            guard let uuid = ServiceUUID(inRow: entry.value) else { throw refused(key) }
            return uuid
        }

        private func patterns<Pattern>(
            _ read: (String) -> Pattern?
        ) throws(QuirksError) -> (press: [Pattern], release: [Pattern]) {
            let isAlternating = try flag(.alternating) ?? false
            guard let press = given[.press].flatMap({ list($0.value, read) }) else { throw refused(.press) }
            guard let entry = given[.release] else {
                guard isAlternating else {
                    throw missing(
                        "has no release",
                        "give it, or alternating = yes for a button that sends the same for each press")
                }
                return (press, [])
            }
            guard !isAlternating else {
                throw refused(.release, "is not possible with alternating = yes", "keep one of both")
            }
            guard let release = list(entry.value, read) else { throw refused(.release) }
            return (press, release)
        }

        /// Reads patterns with commas between them. In AT+XEVENT a comma also stands before a value, which begins without `+`.
        private func list<Pattern>(_ text: String, _ read: (String) -> Pattern?) -> [Pattern]? {
            guard given[.protocol]?.value == TalkProtocol.at.rawValue else {
                return TalkCondition.list(text, most: mostPatterns, read)
            }
            var commands: [String] = []
            for part in TalkCondition.list(text, { $0 }) ?? [] {
                if part.hasPrefix("+") || commands.isEmpty {
                    commands.append(part)
                } else {
                    commands[commands.count - 1] += "," + part
                }
            }
            let patterns = commands.compactMap(read)
            return (1...mostPatterns).contains(commands.count) && patterns.count == commands.count ? patterns : nil
        }

        private func distinct<Pattern: CustomStringConvertible>(
            _ press: [Pattern], _ release: [Pattern], _ conflict: (Pattern, Pattern) -> Bool
        ) throws(QuirksError) {
            let all = press + release
            for (index, first) in all.enumerated() {
                for second in all.dropFirst(index + 1) where conflict(first, second) {
                    throw refused(
                        release.isEmpty || index + 1 < press.count ? .press : .release,
                        "\(first) and \(second) can be the same message", "give patterns that differ")
                }
            }
        }
    }
}
