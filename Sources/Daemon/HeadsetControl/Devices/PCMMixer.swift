package import AudioPaths
import BTCallAPI
package import CallControl
package import ControlLoop
package import Logging
import Routing

/// Values that mixers of programs on the ALSA PCM show and set: the volume of the call's device, the volume of the
/// microphone, and whether the microphone is muted.
@ControlPlane
package final class PCMMixer: PCMMixing {
    /// A mixer has set the microphone volume.
    package let microphoneTurns = Signal<Void>()
    private let pcm: PCMServer
    private let graph: AudioGraph
    private let applications: ApplicationAudio
    private let mute: MuteState
    private let microphone: MicrophoneControl
    private let router: any RouteDeciding
    private let headsets: HeadsetDirectory
    private let calls: CallDirectory
    private let logger: Logger
    /// Call volume on local devices in per cent, as set by a mixer.
    private var localVolume = 100

    package init(
        audio: AudioParts, router: any RouteDeciding, headsets: HeadsetDirectory, calls: CallDirectory, logger: Logger
    ) {
        pcm = audio.pcm
        graph = audio.graph
        applications = audio.applications
        mute = audio.mute
        microphone = audio.microphone
        self.router = router
        self.headsets = headsets
        self.calls = calls
        self.logger = logger
        pcm.mixer = self
        mute.changes.subscribe(self) { $0.pcm.valuesChanged() }
        headsets.changes.subscribe(self) { mixer, _ in mixer.pcm.valuesChanged() }
        graph.events.subscribe(self) { mixer, event in
            if case .routed = event { mixer.pcm.valuesChanged() }
        }
    }

    package var values: PCMServer.Values {
        var playback = localVolume
        if let address = router.policy.current?.address, let headset = headsets.description(of: address) {
            playback = (Int(headset.speakerVolume) * 100 + 7) / 15
        }
        return PCMServer.Values(
            playback: playback, capture: Int((applications.microphoneVolume * 100).rounded()),
            isHeard: !mute.isMuted)
    }

    package func perform(_ request: PCMServer.Request) {
        switch request {
        case .playback(let volume):
            guard let address = router.policy.current?.address, headsets.description(of: address) != nil else {
                localVolume = volume
                graph.setLocalSpeakerGain(Float(volume) / 100)
                return
            }
            let level = min((volume * 15 + 50) / 100, headsets.speakerCeiling(of: address))
            headsets.setSpeakerVolume(UInt8(clamping: level), of: address)
        case .capture(let volume):
            // Always in range: the server has checked it.
            try? applications.setMicrophoneVolume(Double(volume) / 100)
            microphoneTurns.send()
        case .heard(let isHeard): setMuted(!isHeard)
        }
    }

    /// Follows the rules of `Calls1.Muted`: acts in a call only, and unmutes only if `checkUnmuting` allows it.
    private func setMuted(_ isMuted: Bool) {
        guard !calls.calls.isEmpty else { return }
        do throws(APIError) {
            if !isMuted { try microphone.checkUnmuting() }
            mute.set(isMuted)
        } catch {
            logger.notice("a mixer cannot unmute: \(error)")
        }
    }
}
