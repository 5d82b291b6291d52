import CallControl
import Configuration

// The softphone that is followed.
extension Daemon {
    /// While the daemon is active.
    package func followBaresip() {
        guard configuration.baresip.isFollowed, baresip == nil else { return }
        let owner = BaresipOwner(configuration.baresip, directory: calls, logger: logger)
        baresip = owner
        owner.start()
    }

    package func leaveBaresip() {
        baresip?.stop()
        baresip = nil
    }
}
