import DBus

/// The D-Bus bus that btcalld is on.
public enum BridgeBus: Hashable, Sendable, CustomStringConvertible {
    case system
    case session
    /// A server address as D-Bus writes it: `unix:path=/run/btcall/bus`.
    case address(String)

    /// Reads `system`, `session` or a server address; nil for anything else.
    public init?(_ text: String) {
        guard let address = BusAddress(text) else { return nil }
        switch address {
        case .system: self = .system
        case .session: self = .session
        case .address(let text): self = .address(text)
        }
    }

    public var description: String {
        switch self {
        case .system: "system"
        case .session: "session"
        case .address(let text): text
        }
    }

    var busAddress: BusAddress {
        switch self {
        case .system: .system
        case .session: .session
        case .address(let text): .address(text)
        }
    }

    /// Name for use in a sentence: "the system bus", "the bus at unix:path=…".
    var phrase: String {
        switch self {
        case .system: "the system bus"
        case .session: "the session bus"
        case .address(let text): "the bus at \(text)"
        }
    }
}
