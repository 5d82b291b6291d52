package import DBus
import Glibc

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

    /// The bus of a program's option `--bus`, else of the variable `BTCALL_BUS`, else the system's.
    ///
    /// - Parameter option: nil without the option.
    /// - Throws: which name is not accepted, and what is.
    package static func named(_ option: String?) throws(BridgeError) -> BridgeBus {
        let name = option ?? getenv("BTCALL_BUS").map { String(cString: $0) } ?? ""
        if name.isEmpty, option == nil { return .system }
        guard let bus = BridgeBus(name) else {
            throw BridgeError(
                .invalidArgument,
                "bus '\(name)' is not accepted; it is system, session or an address such as unix:path=/run/bus")
        }
        return bus
    }

    public var description: String {
        switch self {
        case .system: "system"
        case .session: "session"
        case .address(let text): text
        }
    }

    /// For a connection of the program's own.
    package var busAddress: BusAddress {
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
