package import DBus

/// An error of bluetoothd, as the caller of one kind of request sees it.
///
/// Errors of all requests are distinguished here; each kind adds its own (``own(_:)``).
package protocol BlueZError: Error {
    static var serviceAbsent: Self { get }
    /// The object of the request does not exist, or no longer.
    static var objectAbsent: Self { get }
    static var timedOut: Self { get }
    static var cancelled: Self { get }
    /// The bus does not let this process talk to bluetoothd.
    static func notPermitted(_ error: BusError) -> Self
    static func failed(_ error: BusError) -> Self

    /// Translates errors of this kind of request only; nil for anything else.
    static func own(_ error: BusError) -> Self?
}

extension BlueZError {
    package init(_ error: BusError) {
        self =
            switch error.name {
            case BusError.Name.serviceUnknown, BusError.Name.nameHasNoOwner, BusError.Name.disconnected: .serviceAbsent
            case BusError.Name.unknownObject, BusError.Name.unknownMethod: .objectAbsent
            case BusError.Name.noReply: .timedOut
            case BusError.Name.cancelled: .cancelled
            default:
                Self.own(error) ?? (error.hasName(BusError.Name.accessDenied) ? .notPermitted(error) : .failed(error))
            }
    }

    // MARK: Remedies

    static var serviceAbsentText: String { "bluetoothd is not running: start it with `systemctl start bluetooth`" }
    static var adapterOffText: String {
        "the Bluetooth adapter is off: switch it on with `bluetoothctl power on`"
    }

    static func notPermittedText(_ error: BusError) -> String {
        """
        the bus does not let this user talk to bluetoothd: add it to the group `bluetooth`, or install the policy \
        file of btcall (\(error))
        """
    }
}

extension BusError {
    /// The part of the name after `org.bluez.Error.`; nil for other errors.
    var blueZName: Substring? {
        name.hasPrefix(BlueZNames.errorPrefix) ? name.dropFirst(BlueZNames.errorPrefix.count) : nil
    }
}
