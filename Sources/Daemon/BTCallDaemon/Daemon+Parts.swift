package import AudioPaths
package import BTCallAPI
package import CallControl
package import Configuration
package import Diagnostics
package import HeadsetControl

// Parts of the daemon that tests and the simulator access.
extension Daemon {
    package var configuration: Configuration { settings.configuration }
    package var state: ManagerDescription.State { lifecycle.state }

    package var graph: AudioGraph { audioParts.graph }
    package var sounds: LocalSounds { audioParts.sounds }
    package var pcm: PCMServer { audioParts.pcm }
    package var microphone: MicrophoneControl { audioParts.microphone }

    package var calls: CallDirectory { callParts.directory }
    package var interruptions: Interruptions { callParts.interruptions }
    package var quality: CallQualityMonitor { callParts.quality }

    package var headsets: HeadsetDirectory { headsetParts.directory }
    package var expectedProfiles: ExpectedProfiles { headsetParts.expectedProfiles }
    package var reconnector: Reconnector { headsetParts.reconnector }
    package var peace: MediaPeace { headsetParts.peace }
    package var media: MediaLinks { headsetParts.music.links }
    package var voiceRouting: VoiceRouting { headsetParts.voiceRouting }
    package var pairing: PairingControl { headsetParts.pairing }

    package var metrics: Metrics { figures.metrics }
}
