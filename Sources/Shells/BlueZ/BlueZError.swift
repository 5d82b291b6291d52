package import DBus

/// An error of bluetoothd as the caller of one kind of request sees it.
///
/// What every request may meet is told apart here; each kind adds what only it can meet (``own(_:)``).
package protocol BlueZError: Error {
    static var serviceAbsent: Self { get }
    /// The object that was asked is not there, or not any more.
    static var objectAbsent: Self { get }
    static var timedOut: Self { get }
    static var cancelled: Self { get }
    /// The bus does not let this process talk to bluetoothd.
    static func notPermitted(_ error: BusError) -> Self
    static func failed(_ error: BusError) -> Self

    /// What only this kind of request meets; nil for anything else.
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

    // MARK: What to do, in words

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
    /// What follows `org.bluez.Error.` in the name; nil for an error of somebody else.
    var blueZName: Substring? {
        name.hasPrefix(BlueZNames.errorPrefix) ? name.dropFirst(BlueZNames.errorPrefix.count) : nil
    }
}
