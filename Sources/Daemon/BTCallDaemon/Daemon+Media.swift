import AudioPaths
import BTCallAPI
import BluetoothTypes
import CallControl
package import Configuration
import ControlLoop
import HeadsetControl
import Logging
import Routing
import Telephony

// Which ways audio goes, and who mutes: what the parts that have to do with it are told.
extension Daemon {
    package func joinMedia() {
        calls.mediaPatience = configuration.waits.media
        applyMedia(configuration)
        headsets.onMicrophoneVolume = { [weak self] address, old, new in self?.headsetTurned(address, old, new) }
    }

    package func applyMedia(_ new: Configuration) {
        calls.configuredMedia = MediaState(audio: new.audioDirection, video: new.videoDirection)
        calls.mediaChangeRule = new.mediaChange
        levels.mutesByVolume = new.mutesByHeadset
    }

    /// Without a call that sends audio no microphone is asked for.
    package func followMedia() {
        let all = calls.calls
        microphone.setRequested(all.isEmpty || all.contains { $0.media.audio.sends })
    }

    /// Lifting the handset answers the call that rings.
    package func handsetLifted() {
        guard let call = calls.snapshot.ringing else { return }
        logger.info("the handset is lifted: it answers")
        calls.request(.answer(call.id), via: .handset)
    }

    /// A headset has another microphone volume: 0 is how many say that their wearer has muted them.
    private func headsetTurned(_ address: BluetoothAddress, _ old: Int?, _ new: Int) {
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
