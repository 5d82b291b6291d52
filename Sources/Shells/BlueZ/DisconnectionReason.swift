import BluetoothTypes

extension DisconnectionReason {
    /// - Parameter name: as on the bus, `org.bluez.Reason.Timeout`; any other text is `unknown`.
    init(busName name: String) {
        guard name.hasPrefix(BlueZNames.reasonPrefix) else {
            self = .unknown
            return
        }
        self = Self(rawValue: name.dropFirst(BlueZNames.reasonPrefix.count).lowercased()) ?? .unknown
    }
}
