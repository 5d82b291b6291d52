package import BluetoothTypes

/// One key of the box, as long as it is configured or its device is known.
package struct TalkKeyID: Hashable, Comparable, Sendable {
    /// What the key belongs to. The order of the cases is the default order of the keys: the higher key talks.
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        /// An input of the board: evdev, GPIO, a HID key.
        case board
        /// A headset or speaker microphone: AT, or its voice link.
        case headset
        /// A button without audio: serial port, GATT.
        case button
        /// A client on the bus: `Call1.Talk`.
        case application
    }

    package let kind: Kind
    /// Name of the input, address of the device, name of the client on the bus.
    package let name: String

    package init(_ kind: Kind, _ name: String) {
        self.kind = kind
        self.name = name
    }

    package init(_ kind: Kind, _ address: BluetoothAddress) {
        self.init(kind, address.description)
    }

    package static func < (left: TalkKeyID, right: TalkKeyID) -> Bool {
        (left.kind.rawValue, left.name) < (right.kind.rawValue, right.name)
    }
}

extension TalkKeyID: CustomStringConvertible {
    /// `headset 00:11:22:33:44:55`, `board pedal`
    package var description: String { "\(kind.rawValue) \(name)" }
}
