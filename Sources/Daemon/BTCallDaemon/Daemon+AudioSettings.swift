import AudioEngine
import AudioPaths
import BTCallAPI
import BusObjects
import Configuration
import Logging
package import Routing

// What a program says of local devices before they are opened.
extension Daemon {
    package func joinAudioSettings() {
        graph.beforeOpening = { [weak self] device, proceed in
            guard let self else { return false }
            let usual = AudioSettingsDescription(period: settings.configuration.periodMilliseconds)
            return audioConfigurator.ask(device, audioConfigurator.settings ?? usual, proceed)
        }
        graph.onOpened = { [weak self] device, path in
            guard path.playbackRate > 0 else { return }
            let period = Double(path.playbackPeriodFrames) * 1000 / Double(path.playbackRate)
            self?.sessionObject?.opened = OpenedAudioDescription(
                device: DeviceWord(device.rawValue) ?? .none, period: period, rate: path.playbackRate)
        }
        audioConfigurator.onChange = { [weak self] new, old in self?.apply(new, replacing: old) }
    }

    /// The routing configuration with what the program excludes.
    package func withExcluded(_ routing: RoutingConfiguration) -> RoutingConfiguration {
        var routing = routing
        for word in audioConfigurator.settings?.exclude ?? [] {
            guard let device = AudioDevice(parsing: word.description), !routing.exclude.contains(device) else {
                continue
            }
            routing.exclude.append(device)
        }
        return routing
    }

    private func apply(_ new: AudioSettingsDescription?, replacing old: AudioSettingsDescription?) {
        let usual = AudioSettingsDescription(period: settings.configuration.periodMilliseconds)
        let (settings, before) = (new ?? usual, old ?? usual)
        outside.paths.setPeriod(settings.period)
        graph.setPlayOnly(settings.directions == .play)
        if settings.mode != before.mode { voice.setBypassed(settings.mode == .media) }
        if settings.exclude != before.exclude { followManualRendering() }
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
