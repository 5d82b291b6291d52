internal import CDBus

/// The kinds of names in a message. libdbus ends the process over an invalid one, so all are checked before.
enum NameRule {
    case objectPath, interface, member, errorName, busName

    func isValid(_ text: String) -> Bool {
        guard !text.utf8.contains(0) else { return false }
        let valid =
            switch self {
            case .objectPath: dbus_validate_path(text, nil)
            case .interface: dbus_validate_interface(text, nil)
            case .member: dbus_validate_member(text, nil)
            case .errorName: dbus_validate_error_name(text, nil)
            case .busName: dbus_validate_bus_name(text, nil)
            }
        return valid != 0
    }

    func check(_ text: String) throws(BusError) {
        guard !isValid(text) else { return }
        throw .invalidArguments("'\(text)' is not a valid \(description)")
    }

    private var description: String {
        switch self {
        case .objectPath: "object path"
        case .interface: "interface name"
        case .member: "member name"
        case .errorName: "error name"
        case .busName: "bus name"
        }
    }
}
