import AudioPaths
import BTCallAPI
import BusObjects
import CallControl
import ControlLoop
import HeadsetControl
import Logging
import Routing
import Telephony

// Programs on the ALSA PCM: whose call they are in, and what a mixer of theirs shows and sets.
extension Daemon {
    package func joinPCM() {
        pcm.onChange = { [weak self] in self?.followPCM() }
        pcm.values = { [weak self] in self?.volumes ?? PCMServer.Values(playback: 100, capture: 100, isHeard: true) }
        pcm.onWish = { [weak self] wish in self?.perform(wish) }
        calls.onProviders = { [weak self] in self?.pcmCalls.callsChanged() }
        let muted = mute.onChange
        mute.onChange = { [weak self] in
            muted?()
            self?.pcm.valuesChanged()
        }
    }

    private func followPCM() {
        // Whoever rings by itself does so alone.
        let isRinging = pcm.count(.ring) > 0
        if sounds.ringer.isReplaced != isRinging { sounds.ringer.isReplaced = isRinging }
        pcmCalls.streamsChanged(isPlaying: pcm.count(.call) > 0, isCapturing: pcm.count(.call, isCapture: true) > 0)
    }

    private var volumes: PCMServer.Values {
        var playback = localVolume
        if let address = router.policy.current?.address, let headset = headsets.description(of: address) {
            playback = (Int(headset.speakerVolume) * 100 + 7) / 15
        }
        return PCMServer.Values(
            playback: playback, capture: Int((applicationAudio.microphoneVolume * 100).rounded()),
            isHeard: !mute.isMuted)
    }

    private func perform(_ wish: PCMServer.Wish) {
        switch wish {
        case .playback(let volume):
            guard let address = router.policy.current?.address, headsets.description(of: address) != nil else {
                localVolume = volume
                graph.setLocalSpeakerGain(Float(volume) / 100)
                return
            }
            let level = min((volume * 15 + 50) / 100, headsets.speakerCeiling(of: address))
            headsets.setSpeakerVolume(UInt8(clamping: level), of: address)
        case .capture(let volume):
            // In range: the server has checked it.
            try? applicationAudio.setMicrophoneVolume(Double(volume) / 100)
            audioObject?.microphoneVolumeChanged()
            keepPreferences()
        case .heard(let isHeard): setMuted(!isHeard)
        }
    }

    /// As `Calls1.Muted` is set: only in a call, and not against a switch.
    private func setMuted(_ isMuted: Bool) {
        guard !calls.calls.isEmpty else { return }
        do throws(APIError) {
            if !isMuted { try microphone.checkUnmuting() }
            mute.set(isMuted)
        } catch {
            logger.notice("a mixer does not unmute: \(error)")
        }
    }
}
