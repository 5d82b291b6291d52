package import JSONText
package import Telephony

/// Message from baresip's module `ctrl_tcp` (1.0 and 1.1): answer to a command, or event.
package enum BaresipMessage: Equatable, Sendable {
    /// - Parameters:
    ///   - token: the command's own; nil when it had none.
    ///   - isDone: whether the command is known and did not fail. Many that do nothing report that in `text` only.
    ///   - text: console output, of several lines.
    case response(token: String?, isDone: Bool, text: String)
    case event(BaresipEvent)

    /// - Returns: nil for anything else.
    package init?(_ value: JSON) {
        if value["response"]?.boolValue == true, let isDone = value["ok"]?.boolValue {
            self = .response(token: value["token"]?.stringValue, isDone: isDone, text: value["data"]?.stringValue ?? "")
            return
        }
        guard value["event"]?.boolValue == true, let type = value["type"]?.stringValue else { return nil }
        self = .event(
            BaresipEvent(
                kind: BaresipEvent.Kind(rawValue: type), id: value["id"]?.stringValue,
                account: value["accountaor"]?.stringValue ?? "", peer: value["peeruri"]?.stringValue ?? "",
                name: value["peerdisplayname"]?.stringValue, isOutgoing: value["direction"]?.stringValue == "outgoing",
                parameter: value["param"]?.stringValue ?? ""))
    }
}

extension BaresipMessage {
    /// Encodes a command for `ctrl_tcp`: JSON in a netstring.
    ///
    /// - Parameter token: returned in the answer.
    package static func command(_ name: String, _ parameters: String?, token: String) -> [UInt8] {
        var members: [(String, JSON)] = [("command", .string(name))]
        if let parameters { members.append(("params", .string(parameters))) }
        members.append(("token", .string(token)))
        return NetstringReader.frame(JSON(members).text())
    }
}

package struct BaresipEvent: Equatable, Sendable {
    package enum Kind: String, Sendable {
        case incoming = "CALL_INCOMING"
        case ringing = "CALL_RINGING"
        case progress = "CALL_PROGRESS"
        case established = "CALL_ESTABLISHED"
        case closed = "CALL_CLOSED"
        /// With `offer` and no id: dialling begins. Neither release has a separate event for that.
        case localDescription = "CALL_LOCAL_SDP"
        /// With `answer`: the far end accepted a change by this end, such as a hold.
        case remoteDescription = "CALL_REMOTE_SDP"
        case exit = "EXIT"
        /// The far end sends a tone.
        case toneBegan = "CALL_DTMF_START"
    }

    /// Nil for an event that is not about calls.
    package var kind: Kind?
    /// The SIP Call-ID; nil until baresip assigns one.
    package var id: String?
    /// Address of record of the own account.
    package var account: String
    package var peer: String
    package var name: String?
    package var isOutgoing: Bool
    package var parameter: String

    package init(
        kind: Kind?, id: String?, account: String, peer: String, name: String?, isOutgoing: Bool, parameter: String
    ) {
        self.kind = kind
        self.id = id
        self.account = account
        self.peer = peer
        self.name = name
        self.isOutgoing = isOutgoing
        self.parameter = parameter
    }

    /// Reason for the end of a call that ended by this event.
    ///
    /// - Parameter wasAnswered: whether it was established before.
    package func endReason(wasAnswered: Bool) -> CallEndReason {
        switch parameter {
        case "Connection reset by user": return wasAnswered || isOutgoing ? .localHangUp : .rejected
        case "Connection reset by peer": return wasAnswered || isOutgoing ? .remoteHangUp : .missed
        case "Connection timed out": return .timedOut
        default: break
        }
        guard isOutgoing, let status = Int(parameter.prefix(3)) else {
            return wasAnswered || isOutgoing ? .error : .missed
        }
        // RFC 3261 §21.
        switch status {
        case 486, 600: return .busy
        case 404, 410, 484, 485, 604: return .notFound
        case 408, 480, 504: return .timedOut
        case 603: return .rejected
        case 487: return .cancelled
        default: return .error
        }
    }
}

/// The remote party, from a SIP or tel URI and its display name.
package struct BaresipPeer: Equatable, Sendable {
    /// Nil for an address that is not a telephone number.
    package let number: String?
    /// The given name; otherwise the address, if there is no number to display.
    package let name: String?

    package init(uri: String, name: String?) {
        let parts = uri.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let address = (parts.count == 2 ? parts[1] : parts[0]).prefix { $0 != ";" && $0 != "?" && $0 != ">" }
        let halves = address.split(separator: "@", omittingEmptySubsequences: false)
        let user = halves[0].prefix { $0 != ":" }
        let isTelephone = parts.count == 2 && parts[0] == "tel"
        let isAnonymous = user == "anonymous" || user.isEmpty
        number = isTelephone || halves.count > 1 ? Self.number(user) : nil
        let given = Self.plain(name ?? "")
        if !given.isEmpty {
            self.name = given
        } else {
            self.name = number != nil || isAnonymous ? nil : Self.plain(String(address))
        }
    }

    /// Removes visual separators (RFC 3966 §5.1.1); nil for anything but a number.
    private static func number(_ user: Substring) -> String? {
        var bytes: [UInt8] = []
        for byte in user.utf8 where !"-.() ".utf8.contains(byte) { bytes.append(byte) }
        let text = String(decoding: bytes, as: UTF8.self)
        let digits = text.hasPrefix("%2B") || text.hasPrefix("%2b") ? "+" + text.dropFirst(3) : text
        let rest = digits.hasPrefix("+") ? digits.dropFirst() : digits[...]
        guard (1...32).contains(rest.utf8.count), rest.utf8.allSatisfy({ "0123456789*#".utf8.contains($0) }) else {
            return nil
        }
        return digits
    }

    /// A display name for people: without the backslashes of RFC 3261 §25.1 and control characters.
    private static func plain(_ text: String) -> String {
        var plain = String.UnicodeScalarView()
        var isEscaped = false
        for scalar in text.unicodeScalars.prefix(256) {
            if scalar == "\\", !isEscaped {
                isEscaped = true
                continue
            }
            isEscaped = false
            if scalar.value >= 0x20, scalar.value != 0x7F { plain.append(scalar) }
        }
        while plain.last == " " { plain.removeLast() }
        return String(plain)
    }
}
