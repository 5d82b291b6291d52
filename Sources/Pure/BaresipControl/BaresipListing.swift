/// Parses baresip's console output about accounts and calls (1.0 and 1.1); unknown lines are ignored.
package enum BaresipListing {
    /// One line of `listcalls`, which lists the calls of the current account (1.0) or of all accounts (1.1).
    package struct Line: Equatable, Sendable {
        package enum State: String, Sendable {
            case outgoing = "OUTGOING"
            case incoming = "INCOMING"
            case ringing = "RINGING"
            case early = "EARLY"
            case established = "ESTABLISHED"
        }

        /// Argument of `line`.
        package let number: Int
        /// Argument of `callfind`; nil in 1.0.
        package let id: String?
        /// The call to which commands apply.
        package let isCurrent: Bool
        package let state: State
        /// Held by this end.
        package let isOnHold: Bool
        package let peer: String
    }

    /// The current call according to `callstat`.
    package struct Status: Equatable, Sendable {
        package let id: String
        /// Address of record of the own account.
        package let account: String
        package let isOutgoing: Bool
        /// The URI; the name precedes it.
        package let peer: String
        package let name: String
    }

    /// - Parameter text: as `> [line 2]  0:00:06  ESTABLISHED  (on hold)  sip:alice@example.org`, or `[line 2, id ID]`.
    package static func lines(_ text: String) -> [Line] {
        text.split(whereSeparator: \.isNewline).compactMap { line in
            var words = line.split(separator: " ")
            let isCurrent = words.first == ">"
            if isCurrent { words.removeFirst() }
            guard words.count >= 5, words[0] == "[line", let number = Int(words[1].dropLast()) else { return nil }
            var id: String?
            if words[1].last == ",", words[2] == "id", words[3].last == "]", words[3].count > 1 {
                id = String(words[3].dropLast())
                words.removeSubrange(2...3)
            } else if words[1].last != "]" {
                return nil
            }
            guard words.count >= 5,
                let state = Line.State(rawValue: String(words[3])), let peer = words.last
            else { return nil }
            let isOnHold = words.count >= 7 && words[4] == "(on" && words[5] == "hold)"
            return Line(
                number: number, id: id, isCurrent: isCurrent, state: state, isOnHold: isOnHold, peer: String(peer))
        }
    }

    /// - Parameter text: of `reginfo`, as `> sip:alice@example.org   OK`, or `0 - sip:alice@example.org` (1.1).
    /// - Returns: the addresses of record in order, the current one, which 1.1 does not mark, and the release; nil for both
    ///   without an account.
    package static func accounts(_ text: String) -> (all: [String], current: String?, release: BaresipRelease?) {
        var all: [String] = []
        var current: String?
        var release: BaresipRelease?
        for line in text.split(whereSeparator: \.isNewline) {
            var words = line.split(separator: " ")
            let isCurrent = words.first == ">"
            if isCurrent { words.removeFirst() }
            let isNumbered = words.count > 2 && Int(words[0]) != nil && words[1] == "-"
            if isNumbered { words.removeFirst(2) }
            guard let account = words.first, account.hasPrefix("sip") else { continue }
            all.append(String(account))
            if isCurrent { current = String(account) }
            release = isNumbered ? .v1dot1 : .v1dot0
        }
        return (all, current, release)
    }

    /// - Parameter text: of `dial`, as `call id: 044f11b14da01058`.
    /// - Returns: nil in 1.0, which says nothing.
    package static func dialled(_ text: String) -> String? {
        let words = text.split(whereSeparator: \.isWhitespace)
        guard words.count == 3, words[0] == "call", words[1] == "id:" else { return nil }
        return String(words[2])
    }

    /// - Parameter text: of `callstat`; nil when there is no call.
    package static func status(_ text: String) -> Status? {
        var id: Substring?
        var isOutgoing: Bool?
        var account: Substring = ""
        var peer: (uri: Substring, name: Substring)?
        for line in text.split(whereSeparator: \.isNewline) {
            let words = line.split(separator: " ")
            if id == nil, let word = words.first(where: { $0.hasPrefix("id=") }), words.first?.hasPrefix("af=") == true
            {
                id = word.dropFirst(3)
            } else if words.first == "direction:", words.count == 2 {
                isOutgoing = words[1] == "Outgoing"
            } else if words.first == "local_uri:", let open = line.lastIndex(of: "<"), line.last == ">" {
                account = line[line.index(after: open)...].dropLast()
            } else if words.first == "peer_uri:", let open = line.lastIndex(of: "<"), line.last == ">" {
                let name = line[..<open].drop { $0 != ":" }.dropFirst()
                peer = (line[line.index(after: open)...].dropLast(), name)
            }
        }
        guard let id, let isOutgoing, let peer else { return nil }
        let words = peer.name.split(separator: " ")
        return Status(
            id: String(id), account: String(account), isOutgoing: isOutgoing, peer: String(peer.uri),
            name: words.joined(separator: " "))
    }
}
