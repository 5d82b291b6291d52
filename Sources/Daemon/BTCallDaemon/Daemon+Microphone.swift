import AudioPaths
import BTCallAPI
import BusObjects
import Configuration
import ControlLoop
import Logging
import Routing

// The microphone: what it is joined with, and what of it is kept over a restart.
extension Daemon {
    package func joinMicrophone() {
        microphone.input = { [weak self] in
            guard let self, let route = router.policy.current else { return nil }
            return (route.description, hasMicrophone(route))
        }
    }

    /// A headset has one, or is used with the board's.
    private func hasMicrophone(_ route: Route) -> Bool {
        guard let local = route.local else { return true }
        if configuration.localDevices[local]?.capture != nil { return true }
        let others: [LocalDevice] = [.speakerphone, .earpiece]
        return local == .wiredHeadset && others.contains { configuration.localDevices[$0]?.capture != nil }
    }

    package func exportCalls() {
        callsObject = CallsObject(
            bus: bus, calls: calls, mute: mute, microphone: microphone, settings: settings, log: callLog)
    }

    package func exportAudio() {
        audioObject = AudioObject(
            bus: bus, graph: graph, audio: audio, applications: applicationAudio,
            announcements: sounds.announcements, mute: mute, voice: voice,
            microphone: microphone,
            manual: manual, taps: taps, settings: settings,
            onPreference: { [weak self] in
                self?.keepPreferences()
                self?.pcm.valuesChanged()
            })
    }

    /// What was set before the daemon ended; a value that is not accepted any more is left out.
    package func restoreAudio() {
        if let word = kept.muteMode {
            if let mode = MuteMode(rawValue: word) {
                mute.mode = mode
            } else {
                logger.warning("the mute mode kept from before is ignored: \(word)")
            }
        }
        do throws(APIError) {
            if let volume = kept.microphoneVolume { try applicationAudio.setMicrophoneVolume(volume) }
            if let volume = kept.applicationVolume { try applicationAudio.setApplicationVolume(volume) }
        } catch {
            logger.warning("a volume kept from before is ignored: \(error)")
        }
    }
}
