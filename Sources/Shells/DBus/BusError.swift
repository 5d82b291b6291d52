internal import CDBus

/// An error reply of a peer or of the bus, or a failure on our side in the same form.
///
/// Expected ones have a constant in `Name`; which of them a call can meet depends on the peer.
package struct BusError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The D-Bus error name, such as "org.freedesktop.DBus.Error.NoReply".
    package let name: String
    /// What went wrong, for a person; may be empty when it comes from a peer.
    package let message: String

    package init(name: String, message: String) {
        self.name = name
        self.message = message
    }

    package var description: String { message.isEmpty ? name : "\(message) (\(name))" }

    package func hasName(_ name: String) -> Bool { self.name == name }

    /// Error names: those of the bus, and our own where it has none.
    package enum Name {
        package static let failed = "org.freedesktop.DBus.Error.Failed"
        package static let noReply = "org.freedesktop.DBus.Error.NoReply"
        package static let disconnected = "org.freedesktop.DBus.Error.Disconnected"
        package static let serviceUnknown = "org.freedesktop.DBus.Error.ServiceUnknown"
        package static let nameHasNoOwner = "org.freedesktop.DBus.Error.NameHasNoOwner"
        package static let accessDenied = "org.freedesktop.DBus.Error.AccessDenied"
        package static let notSupported = "org.freedesktop.DBus.Error.NotSupported"
        package static let limitsExceeded = "org.freedesktop.DBus.Error.LimitsExceeded"
        package static let badAddress = "org.freedesktop.DBus.Error.BadAddress"
        package static let invalidArguments = "org.freedesktop.DBus.Error.InvalidArgs"
        package static let unknownMethod = "org.freedesktop.DBus.Error.UnknownMethod"
        package static let unknownObject = "org.freedesktop.DBus.Error.UnknownObject"
        package static let unknownInterface = "org.freedesktop.DBus.Error.UnknownInterface"
        package static let unknownProperty = "org.freedesktop.DBus.Error.UnknownProperty"
        package static let propertyReadOnly = "org.freedesktop.DBus.Error.PropertyReadOnly"
        /// The requested bus name belongs to another process.
        package static let nameTaken = "org.btcall.Error.NameTaken"
        /// The task that waited for the reply was cancelled.
        package static let cancelled = "org.btcall.Error.Cancelled"
        /// A mistake of our own.
        package static let fault = "org.btcall.Error.Fault"
    }

    package static func failed(_ message: String) -> BusError { BusError(name: Name.failed, message: message) }
    package static func noReply(_ message: String) -> BusError { BusError(name: Name.noReply, message: message) }
    package static func disconnected(_ message: String) -> BusError {
        BusError(name: Name.disconnected, message: message)
    }
    package static func accessDenied(_ message: String) -> BusError {
        BusError(name: Name.accessDenied, message: message)
    }
    package static func notSupported(_ message: String) -> BusError {
        BusError(name: Name.notSupported, message: message)
    }
    package static func limitsExceeded(_ message: String) -> BusError {
        BusError(name: Name.limitsExceeded, message: message)
    }
    package static func badAddress(_ message: String) -> BusError { BusError(name: Name.badAddress, message: message) }
    package static func invalidArguments(_ message: String) -> BusError {
        BusError(name: Name.invalidArguments, message: message)
    }
    package static func unknownMethod(_ message: String) -> BusError {
        BusError(name: Name.unknownMethod, message: message)
    }
    package static func unknownObject(_ message: String) -> BusError {
        BusError(name: Name.unknownObject, message: message)
    }
    package static func nameTaken(_ message: String) -> BusError { BusError(name: Name.nameTaken, message: message) }
    package static func fault(_ message: String) -> BusError { BusError(name: Name.fault, message: message) }
    package static let cancelled = BusError(name: Name.cancelled, message: "the caller no longer waits for the reply")
}

extension BusError {
    /// Runs a libdbus function that fills in a `DBusError`, and throws that if it was set.
    static func check<Result>(_ body: (UnsafeMutablePointer<DBusError>) -> Result) throws(BusError) -> Result {
        var error = DBusError()
        dbus_error_init(&error)
        defer { dbus_error_free(&error) }
        let result = body(&error)
        guard dbus_error_is_set(&error) == 0 else {
            throw BusError(
                name: error.name.map { String(cString: $0) } ?? Name.failed,
                message: error.message.map { String(cString: $0) } ?? "")
        }
        return result
    }
}
