package import BluetoothTypes

/// The headset that lost against the one chosen at a level with any headset, and the reason.
package struct Rival: Hashable, Sendable {
    /// Advantage of one headset over another, in the order of comparison (docs/inside/Routing.md §5).
    package enum Advantage: Hashable, Sendable {
        /// The other one is a loudspeaker or a watch, or declines calls.
        case category
        /// Places of this and the other headset in `headsetOrder`, from 1; nil if not listed.
        case order(Int?, other: Int?)
        /// It has the call, and `newHeadset` is `stay`.
        case call
        /// It came later.
        case attachment
        /// Nothing else distinguishes them.
        case address
    }

    package enum Reason: Hashable, Sendable {
        /// It ranks higher, but an obstacle keeps it from the call.
        case kept(Obstacle)
        case outranked(by: Advantage)
    }

    package let address: BluetoothAddress
    package let reason: Reason

    /// `not bluetooth:AA:BB:CC:DD:EE:FF: newHeadset is stay`
    package var text: String {
        let because =
            switch reason {
            case .kept(let obstacle): obstacle.text
            case .outranked(.category): "it is a loudspeaker or a watch, or declines calls"
            case .outranked(.order(_, let place?)): "place \(place) in headsetOrder"
            case .outranked(.order(_, nil)): "not in headsetOrder"
            case .outranked(.call): "newHeadset is stay"
            case .outranked(.attachment): "it came earlier"
            case .outranked(.address): "it came at the same time and has the higher address"
            }
        return "not bluetooth:\(address): \(because)"
    }
}
