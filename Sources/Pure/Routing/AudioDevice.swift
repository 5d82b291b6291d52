package import BluetoothTypes

/// A device in the user's terms: to prefer, select or exclude (docs/inside/Routing.md §2).
///
/// It may be wider than one device (`bluetooth` is any headset) and need not be present.
package enum AudioDevice: Hashable, Sendable {
    case none
    case speakerphone
    case wiredHeadset
    case earpiece
    /// Any headset; the ranking decides which one.
    case bluetooth
    case headset(BluetoothAddress)

    /// Reads `speakerphone`, `wiredHeadset`, `earpiece`, `bluetooth`, `bluetooth:ADDRESS` or `none`; nil for anything
    /// else.
    package init?(parsing text: some StringProtocol) {
        switch String(text) {
        case "none": self = .none
        case "speakerphone": self = .speakerphone
        case "wiredHeadset": self = .wiredHeadset
        case "earpiece": self = .earpiece
        case "bluetooth": self = .bluetooth
        default:
            let prefix = "bluetooth:"
            guard text.hasPrefix(prefix), let address = BluetoothAddress(text.dropFirst(prefix.count)) else {
                return nil
            }
            self = .headset(address)
        }
    }

    package init(_ local: LocalDevice) {
        switch local {
        case .speakerphone: self = .speakerphone
        case .wiredHeadset: self = .wiredHeadset
        case .earpiece: self = .earpiece
        }
    }

    /// Words accepted by `init(parsing:)`, for messages.
    package static let acceptedWords = "speakerphone | wiredHeadset | earpiece | bluetooth | bluetooth:ADDRESS | none"

    /// The local device; nil for headsets and `none`.
    package var local: LocalDevice? {
        switch self {
        case .speakerphone: .speakerphone
        case .wiredHeadset: .wiredHeadset
        case .earpiece: .earpiece
        case .none, .bluetooth, .headset: nil
        }
    }

    /// Whether the spec includes this headset: by address, or as any headset.
    package func names(_ address: BluetoothAddress) -> Bool {
        switch self {
        case .bluetooth: true
        case .headset(let named): named == address
        case .none, .speakerphone, .wiredHeadset, .earpiece: false
        }
    }
}

extension AudioDevice: CustomStringConvertible {
    /// The text form that `init(parsing:)` reads.
    package var description: String {
        switch self {
        case .none: "none"
        case .speakerphone: "speakerphone"
        case .wiredHeadset: "wiredHeadset"
        case .earpiece: "earpiece"
        case .bluetooth: "bluetooth"
        case .headset(let address): "bluetooth:\(address)"
        }
    }
}

/// A device of the board, or plugged into it.
package enum LocalDevice: String, Hashable, Sendable, CaseIterable {
    case speakerphone, wiredHeadset, earpiece

    package var kind: DeviceKind {
        switch self {
        case .speakerphone: .speakerphone
        case .wiredHeadset: .wiredHeadset
        case .earpiece: .earpiece
        }
    }
}

/// Kind of device that a call supports.
package enum DeviceKind: String, Hashable, Sendable, CaseIterable {
    case speakerphone, wiredHeadset, earpiece, bluetooth
}
