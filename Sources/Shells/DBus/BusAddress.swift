internal import Glibc

/// Address of a bus.
package enum BusAddress: Hashable, Sendable, CustomStringConvertible {
    case system
    case session
    /// A D-Bus server address ("unix:path=/run/test/bus").
    case address(String)

    /// Parses "system", "session" or a server address; nil for anything else.
    package init?(_ text: String) {
        switch text {
        case "system": self = .system
        case "session": self = .session
        default:
            guard let colon = text.firstIndex(of: ":"), colon != text.startIndex, !text.utf8.contains(0) else {
                return nil
            }
            self = .address(text)
        }
    }

    package var description: String {
        switch self {
        case .system: "system"
        case .session: "session"
        case .address(let text): text
        }
    }

    /// The server address, from the environment or the usual place. Never starts a bus.
    func resolved() throws(BusError) -> String {
        switch self {
        case .system:
            return Self.variable("DBUS_SYSTEM_BUS_ADDRESS") ?? "unix:path=/run/dbus/system_bus_socket"
        case .session:
            if let address = Self.variable("DBUS_SESSION_BUS_ADDRESS") { return address }
            if let directory = Self.variable("XDG_RUNTIME_DIR") { return "unix:path=\(directory)/bus" }
            throw .badAddress("no session bus: neither DBUS_SESSION_BUS_ADDRESS nor XDG_RUNTIME_DIR is set")
        case .address(let text):
            guard !text.utf8.contains(0) else { throw .badAddress("a bus address contains a zero byte") }
            return text
        }
    }

    private static func variable(_ name: String) -> String? {
        guard let value = getenv(name).map({ String(cString: $0) }), !value.isEmpty else { return nil }
        return value
    }
}
