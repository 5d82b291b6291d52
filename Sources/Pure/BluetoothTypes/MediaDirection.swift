/// Directions of one medium of a call, as seen from this board.
package enum MediaDirection: String, Hashable, Sendable, CaseIterable {
    case sendReceive, sendOnly, receiveOnly
    case off = "none"

    package init(sends: Bool, receives: Bool) {
        switch (sends, receives) {
        case (true, true): self = .sendReceive
        case (true, false): self = .sendOnly
        case (false, true): self = .receiveOnly
        case (false, false): self = .off
        }
    }

    package var sends: Bool { self == .sendReceive || self == .sendOnly }
    package var receives: Bool { self == .sendReceive || self == .receiveOnly }

    /// Returns the directions that both allow.
    package func limited(to other: MediaDirection) -> MediaDirection {
        MediaDirection(sends: sends && other.sends, receives: receives && other.receives)
    }
}
