import AudioEngine
import BTCallAPI
package import Configuration
package import ControlLoop
package import Logging
package import Routing

/// Opens local devices with the settings of `AudioConfigurator`'s program, otherwise with those of the configuration.
@ControlPlane
package final class DeviceSettings {
    /// The program's excluded devices have changed.
    package let exclusionChanges = Signal<Void>()
    package let configurator: AudioConfigurator
    private let settings: Settings
    private let graph: AudioGraph
    private let voice: VoiceControl
    private let paths: any PathOpening
    private let router: any RouteDeciding
    private let logger: Logger

    package init(
        settings: Settings, configurator: AudioConfigurator, graph: AudioGraph, voice: VoiceControl,
        paths: any PathOpening, router: any RouteDeciding, logger: Logger
    ) {
        self.settings = settings
        self.configurator = configurator
        self.graph = graph
        self.voice = voice
        self.paths = paths
        self.router = router
        self.logger = logger
        graph.beforeOpening = { [weak self] device, proceed in
            guard let self else { return false }
            return configurator.ask(device, configurator.settings ?? usual, proceed)
        }
        configurator.changes.subscribe(self) { $0.apply($1.new, replacing: $1.old) }
    }

    /// Settings without a program.
    private var usual: AudioSettingsDescription {
        AudioSettingsDescription(period: settings.configuration.periodMilliseconds)
    }

    /// Adds the program's excluded devices to the routing configuration.
    package func excluding(_ routing: RoutingConfiguration) -> RoutingConfiguration {
        var routing = routing
        for word in configurator.settings?.exclude ?? [] {
            guard let device = AudioDevice(parsing: word.description), !routing.exclude.contains(device) else {
                continue
            }
            routing.exclude.append(device)
        }
        return routing
    }

    private func apply(_ new: AudioSettingsDescription?, replacing old: AudioSettingsDescription?) {
        let (settings, before) = (new ?? usual, old ?? usual)
        paths.setPeriod(settings.period)
        graph.setPlayOnly(settings.directions == .play)
        if settings.mode != before.mode { voice.setBypassed(settings.mode == .media) }
        if settings.exclude != before.exclude { exclusionChanges.send() }
        guard settings.override != before.override else { return }
        switch settings.override {
        case .none: router.handle(.clearSelection)
        case .speakerphone:
            guard router.refusal(ofSelecting: .speakerphone) == nil else {
                return logger.warning("the loudspeaker, which the audio settings override with, is not available")
            }
            router.handle(.select(.speakerphone))
        }
    }
}
