import BTCallAPI
import ControlLoop
import DBus

/// Manual rendering that this program asks for: a lease, taken again when btcalld restarts.
@ControlPlane
final class ManualMode {
    private weak var connection: BridgeConnection?
    private var isWanted = false
    private var hold: Hold?
    private var presence: Subscription?
    /// The daemon's own name on the bus when the lease was taken.
    private var owner: String?

    init(on connection: BridgeConnection) { self.connection = connection }

    func begin() async throws(BridgeError) {
        guard hold == nil, let connection else { return }
        isWanted = true
        do throws(BridgeError) {
            try await acquire()
        } catch {
            isWanted = hold != nil
            throw error
        }
        guard isWanted, presence == nil else { return }
        presence = connection.connection.watchName(BTCallName.bus) { [weak self] owner in self?.ownerChanged(owner) }
    }

    func end() {
        isWanted = false
        presence?.cancel()
        presence = nil
        owner = nil
        hold?.release()
        hold = nil
    }

    private func acquire() async throws(BridgeError) {
        guard let connection else { return }
        let member = BTCallName.Audio.acquireManual
        let answer = try await connection.request(
            BTCallPath.audio, BTCallName.Interface.audio, member, [.vardict([:])])
        let taken = try Hold(answer, of: member)
        // Without an owner the daemon has gone meanwhile, and the lease with it.
        owner = try? await connection.connection.owner(of: BTCallName.bus)
        if isWanted { hold = taken } else { taken.release() }
    }

    private func ownerChanged(_ new: String?) {
        guard let new, new != owner else { return }
        hold?.release()
        hold = nil
        owner = new
        Task { @ControlPlane in
            // A daemon that refuses opens its devices, as one that does not run.
            if isWanted, hold == nil { try? await acquire() }
        }
    }
}
