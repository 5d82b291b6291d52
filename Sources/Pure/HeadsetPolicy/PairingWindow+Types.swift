package import BluetoothTypes

// What goes into the window and comes out of it.
extension PairingWindow {
    /// bluetoothd's facts about a device.
    package struct Device: Equatable, Sendable {
        package let address: BluetoothAddress
        /// The device's own name.
        package let name: String?
        /// dBm; nil: not found by the present search.
        package let rssi: Int?
        /// Whether it can play sound; nil: not announced yet.
        package let isAudio: Bool?
        package let isPaired: Bool
        /// Whether a radio link to it exists, so that connecting its profiles pages nobody.
        package let isConnected: Bool

        package init(
            _ address: BluetoothAddress, name: String?, rssi: Int?, isAudio: Bool?, isPaired: Bool,
            isConnected: Bool = true
        ) {
            self.isConnected = isConnected
            self.address = address
            self.name = name
            self.rssi = rssi
            self.isAudio = isAudio
            self.isPaired = isPaired
        }

        package var title: String { name.map { "\($0) (\(address))" } ?? "\(address)" }
    }

    package struct Result: Equatable, Sendable {
        /// Nil without a particular device.
        package let address: BluetoothAddress?
        package let outcome: PairingOutcome
        /// For display; empty if there is nothing to add.
        package let reason: String

        package init(address: BluetoothAddress?, outcome: PairingOutcome, reason: String) {
            self.address = address
            self.outcome = outcome
            self.reason = reason
        }
    }

    package enum Action: Equatable, Sendable {
        case startDiscovery, stopDiscovery
        /// These three are answered by `answered` with their number.
        case pair(BluetoothAddress, number: Int)
        case trust(BluetoothAddress, number: Int)
        case connect(BluetoothAddress, number: Int)
        case cancelPairing(BluetoothAddress)
        /// Removes the bond of a device that was paired but is not allowed.
        case dropBond(BluetoothAddress)
        /// A line for the log.
        case audit(String)
        /// Replaces an earlier deadline.
        case setDeadline(Instant)
        /// Releases the agent and the adapter.
        case close
        case finished(Result)
    }

    /// Result of a pairing step.
    package enum Answer: Equatable, Sendable {
        case done
        case failed(String)
    }
}
