package import BTCallAPI
import BlueZ
import BusObjects
import CallControl
import ControlLoop
import HeadsetControl
import Logging

// Activating and deactivating.
extension Daemon {
    package var state: ManagerDescription.State { activation.state }

    package func joinActivation() {
        activation.onState = { [weak self] state in
            guard let self else { return }
            manager?.stateChanged()
            reconnector.follow()
            onStatus?()
            switch state {
            case .active:
                followHeadsetProfile()
                followA2DP()
                logger.notice("active")
            case .inactive: logger.notice("inactive")
            case .activating, .deactivating: return
            }
        }
        activation.open = { [weak self] in
            self?.calls.acceptsProviders = true
            self?.profile.start()
        }
        activation.isReady = { [weak self] in
            guard let self else { return true }
            switch profile.state {
            case .registered, .refused, .stopped: return true
            // Without Bluetooth there are the board's own devices.
            case .waitingForService: return !registry.isServicePresent
            }
        }
        activation.close = { [weak self] in
            guard let self else { return }
            calls.acceptsProviders = false
            calls.releaseProviders()
            headsets.closeAll()
        }
        activation.withdraw = { [weak self] in
            await self?.profile.stop()
            await self?.headsetProfile.stop()
            await self?.mediaSource.stop()
        }
    }

    /// Registers the profiles and accepts providers; returns when bluetoothd has answered.
    ///
    /// - Throws: `wrongState` when somebody deactivates it meanwhile.
    package func activate() async throws(APIError) {
        try await activation.reach(.active)
    }

    /// Ends all calls, releases the providers and takes the profiles back; returns when that is done.
    package func deactivate() async throws(APIError) {
        try await activation.reach(.inactive)
    }
}
