package import AudioPaths
package import BTCallAPI
package import ControlLoop
package import DBus
package import Routing

/// Selections that end with their owner: each is taken back when its descriptor is closed, unless a later choice, of whoever,
/// has taken its place.
@ControlPlane
package final class HeldSelections {
    private final class Claim {
        /// The number that the policy gave the choice.
        var sequence: Int?
    }

    private let router: any SelectionTaking
    private let holders = HolderList<Claim>()

    package init(router: any SelectionTaking) {
        self.router = router
        holders.onReleased = { [router] holder in
            guard let sequence = holder.claim.sequence, sequence == router.choiceSequence else { return }
            router.handle(.clearSelection)
        }
    }

    /// Makes a selection that the policy has not refused.
    ///
    /// - Parameter busName: of the program that asks.
    /// - Returns: the descriptor that the program gets.
    /// - Throws: what `HolderList` throws; nothing is selected then.
    package func select(_ device: AudioDevice, for busName: String) throws(APIError) -> PassedDescriptor {
        let claim = Claim()
        let descriptor = try holders.add(claim, of: busName)
        router.handle(.select(device))
        claim.sequence = router.choiceSequence
        return descriptor
    }

    /// The daemon stops.
    package func close() { holders.removeAll() }
}
