/// Identifies one call for its whole lifetime; assigned by `CallTable` in order of report and never reused.
///
/// The shell maps it to the UUID of the D-Bus object. The +CLCC index is a different number: `Call.index`.
package struct CallID: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let value: UInt32

    package init(_ value: UInt32) {
        self.value = value
    }

    package var description: String { "call \(value)" }

    package static func < (left: CallID, right: CallID) -> Bool { left.value < right.value }
}

/// Side that began the call.
package enum CallDirection: String, Hashable, Sendable {
    case incoming, outgoing
}

/// Capabilities of the provider for one call, or in general (`dial`).
package struct CallCapabilities: OptionSet, Hashable, Sendable {
    package let rawValue: UInt16

    package init(rawValue: UInt16) {
        self.rawValue = rawValue
    }

    package static let hold = CallCapabilities(rawValue: 1 << 0)
    package static let swap = CallCapabilities(rawValue: 1 << 1)
    package static let conference = CallCapabilities(rawValue: 1 << 2)
    package static let dtmf = CallCapabilities(rawValue: 1 << 3)
    package static let mute = CallCapabilities(rawValue: 1 << 4)
    package static let dial = CallCapabilities(rawValue: 1 << 5)
    package static let video = CallCapabilities(rawValue: 1 << 6)
    package static let talk = CallCapabilities(rawValue: 1 << 7)

    /// Reads a word of `CallProvider1`'s option `capabilities`; nil for an unknown one.
    package init?(word: String) {
        switch word {
        case "hold": self = .hold
        case "swap": self = .swap
        case "conference": self = .conference
        case "dtmf": self = .dtmf
        case "mute": self = .mute
        case "dial": self = .dial
        case "video": self = .video
        case "talk": self = .talk
        default: return nil
        }
    }
}

/// The remote party, and further details of a reported call.
package struct CallDetails: Hashable, Sendable {
    /// Number as dialled or displayed, international with a leading `+`; nil when withheld or not a number.
    package var number: String?
    /// Type of address of `number` (3GPP TS 24.008 §10.5.4.7): 128…143 unknown, 144…159 international, 160…175 national;
    /// nil: derived from the number.
    package var numberType: Int?
    /// Name to display; nil when unknown.
    package var name: String?
    package var hasVideo: Bool
    /// The far end's address in the provider's notation; nil: nothing beyond the number.
    package var remoteAddress: String?
    /// nil: the provider's general capabilities.
    package var capabilities: CallCapabilities?

    package init(
        number: String? = nil, numberType: Int? = nil, name: String? = nil, hasVideo: Bool = false,
        capabilities: CallCapabilities? = nil
    ) {
        self.number = number
        self.numberType = numberType
        self.name = name
        self.hasVideo = hasVideo
        self.capabilities = capabilities
    }
}

/// One call of the board, of any provider.
package struct Call: Hashable, Sendable {
    package let id: CallID
    /// Registered name of the call's provider.
    package let provider: String
    package let direction: CallDirection
    package var state: CallState
    package var details: CallDetails
    package var capabilities: CallCapabilities
    /// Index for +CLCC and for +CHLD=1x and 2x, 1…7: the lowest free one when the call began, kept until it ends.
    package let index: Int
    /// Part of a multiparty call.
    package var isConference: Bool
    /// Shown to headsets: not a call of a provider without call state.
    package let isShown: Bool

    package init(
        id: CallID, provider: String, direction: CallDirection, state: CallState, details: CallDetails = CallDetails(),
        capabilities: CallCapabilities = [], index: Int, isConference: Bool = false, isShown: Bool = true
    ) {
        self.isShown = isShown
        self.id = id
        self.provider = provider
        self.direction = direction
        self.state = state
        self.details = details
        self.capabilities = capabilities
        self.index = index
        self.isConference = isConference
    }
}
