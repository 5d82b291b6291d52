package import BluetoothTypes

/// One row of a file of talk keys: which devices it is for, and how they report their key.
package struct TalkRow: Hashable, Sendable {
    /// File that the row comes from. A learnt row takes precedence over an administrator's, and that over a shipped one.
    package enum Origin: String, Hashable, Sendable, CaseIterable {
        case shipped, admin, learnt
    }

    /// How the device reports its key. An empty release: the button sends the same for each press.
    package enum Reading: Hashable, Sendable {
        case at(press: [ATTalkPattern], release: [ATTalkPattern])
        case link
        /// - service: of the RFCOMM channel.
        case serial(service: ServiceUUID, press: [TalkPattern], release: [TalkPattern])
        case notification(
            service: ServiceUUID, characteristic: ServiceUUID, press: [TalkPattern], release: [TalkPattern])
    }

    package let name: String
    package let origin: Origin
    /// 0 for a row that is not from a file.
    package let line: Int
    /// All have to match.
    package let conditions: [TalkCondition]
    package let reading: Reading
    /// The voice link stays open between presses; false: it is opened by the press. Always false for `link`.
    package let keepsLink: Bool
    /// Source of the row, for people.
    package let reference: String
    package internal(set) var isEnabled = true

    package init(
        name: String, origin: Origin, line: Int = 0, conditions: [TalkCondition], reading: Reading, keepsLink: Bool,
        reference: String
    ) {
        self.name = name
        self.origin = origin
        self.line = line
        self.conditions = conditions
        self.reading = reading
        self.keepsLink = keepsLink
        self.reference = reference
    }

    package var `protocol`: TalkProtocol {
        switch reading {
        case .at: .at
        case .link: .link
        case .serial: .serial
        case .notification: .notification
        }
    }

    /// Whether the button sends the same for each press.
    package var isAlternating: Bool {
        switch reading {
        case .at(_, let release): release.isEmpty
        case .link: false
        case .serial(_, _, let release), .notification(_, _, _, let release): release.isEmpty
        }
    }

    /// - Returns: why the row applies to this device, in words; nil: it does not apply.
    package func reasons(for subject: TalkSubject) -> [String]? {
        let reasons = conditions.compactMap { $0.reason(for: subject) }
        return isEnabled && !conditions.isEmpty && reasons.count == conditions.count ? reasons : nil
    }

    /// The row as a section of a file, with a line end.
    package var text: String {
        var lines = ["[key \(name)]"]
        lines += conditions.map { "\($0.key.rawValue) = \($0.value)" }
        lines.append("protocol = \(`protocol`.rawValue)")
        func add(_ key: String, _ values: [String]) {
            if !values.isEmpty { lines.append("\(key) = \(values.joined(separator: ", "))") }
        }
        switch reading {
        case .at(let press, let release):
            add("press", press.map(\.description))
            add("release", release.map(\.description))
        case .link: break
        case .serial(let service, let press, let release):
            if service != .serialPort { add("service", [service.notationInRow]) }
            add("press", press.map(\.description))
            add("release", release.map(\.description))
        case .notification(let service, let characteristic, let press, let release):
            add("service", [service.notationInRow])
            add("characteristic", [characteristic.notationInRow])
            add("press", press.map(\.description))
            add("release", release.map(\.description))
        }
        if isAlternating { lines.append("alternating = yes") }
        if !keepsLink, `protocol` != .link { lines.append("keepsLink = no") }
        lines.append("reference = \(reference)")
        if !isEnabled { lines.append("enabled = no") }
        return lines.joined(separator: "\n") + "\n"
    }
}

extension ATTalkReader {
    /// Nil for a row of another protocol.
    package init?(_ row: TalkRow) {
        guard case .at(let press, let release) = row.reading else { return nil }
        self.init(press: press, release: release)
    }
}

extension SerialTalkReader {
    /// Nil for a row of another protocol.
    package init?(_ row: TalkRow) {
        guard case .serial(_, let press, let release) = row.reading else { return nil }
        self.init(press: press, release: release)
    }
}

extension NotificationTalkReader {
    /// Nil for a row of another protocol.
    package init?(_ row: TalkRow) {
        guard case .notification(_, _, let press, let release) = row.reading else { return nil }
        self.init(press: press, release: release)
    }
}
