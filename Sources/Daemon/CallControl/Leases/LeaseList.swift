package import BTCallAPI
package import ControlLoop
package import DBus

/// All current holders of a lease, each with a descriptor of its own, in order of beginning.
@ControlPlane
package final class LeaseList<Claim> {
    package struct Holder {
        /// The unique bus name of the program that asked.
        package let busName: String
        package let claim: Claim
        fileprivate let identifier: UInt64
        fileprivate let held: DescriptorLease
    }

    package private(set) var holders: [Holder] = []
    /// Called after a holder has closed its descriptor and left the list.
    package var onReleased: (@ControlPlane (Holder) -> Void)?
    private let limit: Int
    private let limitPerClient: Int
    private var lastIdentifier: UInt64 = 0

    /// - Parameters:
    ///   - limit: the most holders at once; each costs a descriptor.
    ///   - limitPerClient: the most for one program, so that it does not keep all others out.
    package init(limit: Int = 64, limitPerClient: Int = 16) {
        self.limit = limit
        self.limitPerClient = limitPerClient
    }

    /// - Returns: the descriptor for the holder.
    /// - Throws: `wrongState` when the list is full or the program has its share, `fault` when no descriptor can be created.
    package func add(_ claim: Claim, of busName: String) throws(APIError) -> PassedDescriptor {
        guard holders.count(where: { $0.busName == busName }) < limitPerClient else {
            throw APIError(
                .wrongState,
                "you hold this \(limitPerClient) times already, which is the most for one program: close one first")
        }
        guard holders.count < limit else {
            throw APIError(
                .wrongState, "\(limit) programs hold this already, which is the most there can be: close one first")
        }
        lastIdentifier += 1
        let identifier = lastIdentifier
        do throws(SystemError) {
            let (held, holdersEnd) = try DescriptorLease.make { [weak self] in self?.released(identifier) }
            holders.append(Holder(busName: busName, claim: claim, identifier: identifier, held: held))
            return holdersEnd
        } catch {
            throw APIError(.fault, "no descriptor for the holder: \(error); see LimitNOFILE of the daemon")
        }
    }

    /// Ends the leases of one program; `onReleased` is not called for them.
    ///
    /// - Returns: the number of leases ended.
    package func remove(of busName: String) -> Int {
        let ended = holders.filter { $0.busName == busName }
        holders.removeAll { $0.busName == busName }
        for holder in ended { holder.held.cancel() }
        return ended.count
    }

    /// Ends all leases; `onReleased` is not called.
    package func removeAll() {
        for holder in holders { holder.held.cancel() }
        holders = []
    }

    private func released(_ identifier: UInt64) {
        guard let index = holders.firstIndex(where: { $0.identifier == identifier }) else { return }
        onReleased?(holders.remove(at: index))
    }
}
