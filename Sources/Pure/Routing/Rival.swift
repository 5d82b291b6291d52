package import BluetoothTypes

/// The headset that a level with any headset would have given if it had not given another one, and why it did not.
package struct Rival: Hashable, Sendable {
    /// What one headset has over another, in the order in which it is asked (routing policy §5).
    package enum Advantage: Hashable, Sendable {
        /// The other one is a loudspeaker or a watch, or declines calls.
        case category
        /// Its place in `headsetOrder`, and that of the other one, from 1; nil: it is not in it.
        case order(Int?, other: Int?)
        /// It has the call, and `newHeadset` is `stay`.
        case call
        /// It came later.
        case attachment
        /// Nothing else tells them apart.
        case address
    }

    package enum Reason: Hashable, Sendable {
        /// It ranks higher, and something keeps it from the call.
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
