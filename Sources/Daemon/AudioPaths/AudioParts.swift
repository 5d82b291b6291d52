import AudioEngine
package import Configuration
package import ControlLoop
package import DBus
package import Diagnostics
package import Logging
import Routing

/// The audio of the box: devices, programs that take part, and the board's own sounds.
@ControlPlane
package final class AudioParts {
    package let graph: AudioGraph
    package let locals: LocalDeviceMonitor
    package let mute = MuteState()
    package let microphone: MicrophoneControl
    package let cameras: CameraUse
    package let applications: ApplicationAudio
    package let voice: VoiceControl
    package let manual: ManualRendering
    package let sounds: LocalSounds
    package let devices: DeviceSettings
    package let pcm: PCMServer
    private let outputs: OutputProblems
    private let paths: any PathOpening
    private let logger: Logger
    private var isMixingSaid = false

    /// - Parameters:
    ///   - graph: with its engine running.
    ///   - locals: the present local devices.
    ///   - paths: sound cards.
    package init(
        settings: Settings, bus: BusConnection, graph: AudioGraph, locals: LocalDeviceMonitor,
        paths: any PathOpening, router: any RouteDeciding, problems: ProblemList, logger: Logger
    ) {
        let configuration = settings.configuration
        self.graph = graph
        self.locals = locals
        self.paths = paths
        self.logger = logger
        applications = ApplicationAudio(graph: graph, logger: logger)
        voice = VoiceControl(configuration, graph: graph, problems: problems)
        manual = ManualRendering(graph: graph, bus: bus, logger: logger)
        sounds = LocalSounds(
            graph: graph, router: router, configuration: configuration.soundedRing, playable: configuration.playable,
            problems: problems, logger: logger)
        microphone = MicrophoneControl(
            configuration, graph: graph, router: router, mute: mute, paths: paths, problems: problems, logger: logger)
        cameras = CameraUse(bus: bus, logger: logger)
        devices = DeviceSettings(
            settings: settings,
            configurator: AudioConfigurator(
                bus: bus, budget: configuration.timeouts.audioSettings, callTimeout: configuration.timeouts.provider,
                logger: logger),
            graph: graph, voice: voice, paths: paths, router: router, logger: logger)
        pcm = PCMServer(
            path: configuration.pcmSocket, graph: graph, announcements: sounds.announcements, problems: problems,
            logger: logger)
        outputs = OutputProblems(graph: graph, settings: settings, problems: problems)
        applications.onReplacement = { [weak microphone] in microphone?.setReplaced($0) }
        cameras.changes.subscribe(self) { $0.microphone.setCameraInUse($0.cameras.isInUse) }
        pcm.changes.subscribe(self) { audio in
            // An application that rings on the PCM replaces the board's ringer.
            let isRinging = audio.pcm.count(.ring) > 0
            if audio.sounds.ringer.isReplaced != isRinging { audio.sounds.ringer.isReplaced = isRinging }
        }
        sayMixing(configuration)
        graph.setAllowsStandby(configuration.allowsStandby)
    }

    /// Applies a changed configuration.
    package func follow(_ new: Configuration, replacing old: Configuration) {
        microphone.follow(new, replacing: old)
        graph.engine.setCallQueue(new.callQueueBlocks)
        paths.setPeriod(new.periodMilliseconds)
        voice.follow(new)
        sounds.follow(new.soundedRing)
        outputs.follow()
        paths.setMixing(new.mixesWithOthers)
        sayMixing(new)
        graph.setAllowsStandby(new.allowsStandby)
        if new.periodMilliseconds != old.periodMilliseconds { graph.reopenStandby() }
    }

    private func sayMixing(_ configuration: Configuration) {
        if configuration.mixesWithOthers, !isMixingSaid {
            logger.notice(
                "sound cards are shared with other programs (mixWithOthers): hw: devices open by dmix and dsnoop")
        }
        isMixingSaid = configuration.mixesWithOthers
    }
}
