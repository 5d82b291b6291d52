/// Parses baresip's console output about accounts and calls (1.0.0); unknown lines are ignored.
package enum BaresipListing {
    /// One line of `listcalls`, which lists the calls of the current account.
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
        package let isOutgoing: Bool
        /// The URI; the name precedes it.
        package let peer: String
        package let name: String
    }

    /// - Parameter text: as `> [line 2]  0:00:06  ESTABLISHED  (on hold)  sip:alice@example.org`.
    package static func lines(_ text: String) -> [Line] {
        text.split(whereSeparator: \.isNewline).compactMap { line in
            var words = line.split(separator: " ")
            let isCurrent = words.first == ">"
            if isCurrent { words.removeFirst() }
            guard words.count >= 5, words[0] == "[line", words[1].last == "]", let number = Int(words[1].dropLast()),
                let state = Line.State(rawValue: String(words[3])), let peer = words.last
            else { return nil }
            let isOnHold = words.count >= 7 && words[4] == "(on" && words[5] == "hold)"
            return Line(number: number, isCurrent: isCurrent, state: state, isOnHold: isOnHold, peer: String(peer))
        }
    }

    /// - Parameter text: of `reginfo`, as `> sip:alice@example.org   OK`.
    /// - Returns: the addresses of record in order, and the current one.
    package static func accounts(_ text: String) -> (all: [String], current: String?) {
        var all: [String] = []
        var current: String?
        for line in text.split(whereSeparator: \.isNewline) {
            var words = line.split(separator: " ")
            let isCurrent = words.first == ">"
            if isCurrent { words.removeFirst() }
            guard let account = words.first, account.hasPrefix("sip") else { continue }
            all.append(String(account))
            if isCurrent { current = String(account) }
        }
        return (all, current)
    }

    /// - Parameter text: of `callstat`; nil when there is no call.
    package static func status(_ text: String) -> Status? {
        var id: Substring?
        var isOutgoing: Bool?
        var peer: (uri: Substring, name: Substring)?
        for line in text.split(whereSeparator: \.isNewline) {
            let words = line.split(separator: " ")
            if id == nil, let word = words.first(where: { $0.hasPrefix("id=") }), words.first?.hasPrefix("af=") == true
            {
                id = word.dropFirst(3)
            } else if words.first == "direction:", words.count == 2 {
                isOutgoing = words[1] == "Outgoing"
            } else if words.first == "peer_uri:", let open = line.lastIndex(of: "<"), line.last == ">" {
                let name = line[..<open].drop { $0 != ":" }.dropFirst()
                peer = (line[line.index(after: open)...].dropLast(), name)
            }
        }
        guard let id, let isOutgoing, let peer else { return nil }
        let words = peer.name.split(separator: " ")
        return Status(
            id: String(id), isOutgoing: isOutgoing, peer: String(peer.uri), name: words.joined(separator: " "))
    }
}
