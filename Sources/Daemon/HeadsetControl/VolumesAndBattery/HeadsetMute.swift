package import AudioPaths
import BTCallAPI
import BluetoothTypes
package import CallControl
package import Configuration
package import ControlLoop
package import Logging
import Routing

/// Mutes the calls while the wearer of the headset that carries them turns its microphone down to 0, which is how many
/// headsets report a mute (`[bluetooth] mutesByHeadset`).
@ControlPlane
package final class HeadsetMute {
    private let settings: Settings
    private let router: any RouteDeciding
    private let calls: CallDirectory
    private let mute: MuteState
    private let microphone: MicrophoneControl
    private let logger: Logger

    package init(
        settings: Settings, router: any RouteDeciding, headsets: HeadsetDirectory, calls: CallDirectory,
        audio: AudioParts, logger: Logger
    ) {
        self.settings = settings
        self.router = router
        self.calls = calls
        mute = audio.mute
        microphone = audio.microphone
        self.logger = logger
        headsets.changes.subscribe(self) { headsetMute, change in
            if case .microphoneTurned(let address, let old, let new) = change {
                headsetMute.turned(address, old, new)
            }
        }
    }

    private func turned(_ address: BluetoothAddress, _ old: Int?, _ new: Int) {
        guard settings.configuration.mutesByHeadset, router.policy.current?.address == address else { return }
        if new == 0, !mute.isMuted, !calls.calls.isEmpty {
            mute.set(true)
        } else if new > 0, old == 0, mute.isMuted {
            do throws(APIError) {
                try microphone.checkUnmuting()
                mute.set(false)
            } catch {
                logger.notice("\(address) cannot unmute: \(error)")
            }
        }
    }
}
