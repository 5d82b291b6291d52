package import AudioPaths
package import BTCallAPI
package import ControlLoop
package import DBus
package import Routing

/// Selections that end with their owner: each is cleared when its descriptor is closed, unless a later selection by anyone
/// has replaced it.
@ControlPlane
package final class HeldSelections {
    private final class Claim {
        /// The policy's sequence number of the selection.
        var sequence: Int?
    }

    private let router: any SelectionTaking
    private let holders = LeaseList<Claim>()

    package init(router: any SelectionTaking) {
        self.router = router
        holders.onReleased = { [router] holder in
            guard let sequence = holder.claim.sequence, sequence == router.choiceSequence else { return }
            router.handle(.clearSelection)
        }
    }

    /// Makes a selection that the policy has not refused.
    ///
    /// - Parameter busName: bus name of the program that selects.
    /// - Returns: the descriptor for the program.
    /// - Throws: the errors of `LeaseList`; nothing is selected then.
    package func select(_ device: AudioDevice, for busName: String) throws(APIError) -> PassedDescriptor {
        let claim = Claim()
        let descriptor = try holders.add(claim, of: busName)
        router.handle(.select(device))
        claim.sequence = router.choiceSequence
        return descriptor
    }

    /// Ends all selections when the daemon stops.
    package func close() { holders.removeAll() }
}
