package import BluetoothTypes

/// A device as it is written on D-Bus, in the configuration and on the command line.
package enum DeviceWord: Hashable, Sendable {
    case speakerphone
    case wiredHeadset
    case earpiece
    /// Any headset.
    case bluetooth
    /// One headset.
    case headset(BluetoothAddress)
    /// No device, or nothing set.
    case none

    /// All words that ``init(_:)`` accepts, for messages.
    package static let accepted = "speakerphone, wiredHeadset, earpiece, bluetooth, bluetooth:AA:BB:CC:DD:EE:FF, none"

    /// Reads one word; the address in either case. Nil for anything else.
    package init?(_ text: some StringProtocol) {
        switch text {
        case "speakerphone": self = .speakerphone
        case "wiredHeadset": self = .wiredHeadset
        case "earpiece": self = .earpiece
        case "bluetooth": self = .bluetooth
        case "none": self = .none
        default:
            let prefix = "bluetooth:"
            guard text.hasPrefix(prefix), let address = BluetoothAddress(text.dropFirst(prefix.count)) else {
                return nil
            }
            self = .headset(address)
        }
    }

    /// The kind without the address: `bluetooth` for one headset as well.
    package var kind: String {
        switch self {
        case .headset: "bluetooth"
        case .speakerphone, .wiredHeadset, .earpiece, .bluetooth, .none: description
        }
    }

    /// The address of the one headset.
    package var address: BluetoothAddress? {
        switch self {
        case .headset(let address): address
        case .speakerphone, .wiredHeadset, .earpiece, .bluetooth, .none: nil
        }
    }
}

extension DeviceWord: CustomStringConvertible {
    package var description: String {
        switch self {
        case .speakerphone: "speakerphone"
        case .wiredHeadset: "wiredHeadset"
        case .earpiece: "earpiece"
        case .bluetooth: "bluetooth"
        case .headset(let address): "bluetooth:\(address)"
        case .none: "none"
        }
    }
}
