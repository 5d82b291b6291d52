import BTCallAPI
package import Configuration
package import ControlLoop
package import Diagnostics
package import Logging
package import Routing

/// Saves what clients have set over a restart: settings, preferred and default device, mute mode, volumes.
@ControlPlane
package final class PreferenceKeeper {
    private let store: PreferenceStore?
    private let kept: PreferenceStore.Preferences
    private let writer: StateWriter
    private let settings: Settings
    private let router: any RouteDeciding
    private let mute: MuteState
    private let applications: ApplicationAudio
    private let problems: ProblemList
    private let logger: Logger
    /// The preferred device that the present one replaced while there was no default (`Router1.ReplacedPreference`).
    package var replacedPreference: AudioDevice

    /// - Parameters:
    ///   - store: nil saves nothing.
    ///   - kept: saved by an earlier run.
    package init(
        store: PreferenceStore?, kept: PreferenceStore.Preferences, writer: StateWriter, settings: Settings,
        router: any RouteDeciding, audio: AudioParts, problems: ProblemList, logger: Logger
    ) {
        self.store = store
        self.kept = kept
        replacedPreference = kept.replaced.flatMap { AudioDevice(parsing: $0) } ?? .none
        self.writer = writer
        self.settings = settings
        self.router = router
        mute = audio.mute
        applications = audio.applications
        self.problems = problems
        self.logger = logger
        settings.runtimeChanges.subscribe(self) { $0.keep() }
        settings.droppedChanges.subscribe(self) { $0.showDropped() }
        showDropped()
    }

    /// Restores the saved values; a value that is no longer accepted is skipped.
    package func restore() {
        if let device = kept.preferred.flatMap({ AudioDevice(parsing: $0) }) { router.handle(.setPreferred(device)) }
        if let device = kept.standard.flatMap({ AudioDevice(parsing: $0) }) { router.handle(.setDefault(device)) }
        if let word = kept.muteMode {
            if let mode = MuteMode(rawValue: word) {
                mute.mode = mode
            } else {
                logger.warning("the mute mode kept from before is ignored: \(word)")
            }
        }
        do throws(APIError) {
            if let volume = kept.microphoneVolume { try applications.setMicrophoneVolume(volume) }
            if let volume = kept.applicationVolume { try applications.setApplicationVolume(volume) }
        } catch {
            logger.warning("a volume kept from before is ignored: \(error)")
        }
    }

    /// Saves the values; called after a change.
    package func keep() {
        guard let store else { return }
        let policy = router.policy
        var preferences = PreferenceStore.Preferences(
            preferred: policy.preferred.description, standard: policy.defaultDevice.description,
            settings: settings.runtime)
        if replacedPreference != .none { preferences.replaced = replacedPreference.description }
        preferences.muteMode = mute.mode.rawValue
        preferences.microphoneVolume = applications.microphoneVolume
        preferences.applicationVolume = applications.applicationVolume
        writer.write(PreferenceStore.text(preferences), to: store.file) { [problems] error in
            guard let error else { return problems.end("state") }
            let failure = PreferenceStore.Failure(path: store.file.path, error: error)
            problems.begin("state", what: "preferences are not kept", remedy: "\(failure)")
        }
    }

    /// Reports saved settings that are no longer accepted, until each is set again or reset.
    private func showDropped() {
        let names = settings.dropped.sorted()
        guard let first = names.first else { return problems.end("settings") }
        problems.begin(
            "settings", what: "settings kept from before are not accepted any more: \(names.joined(separator: ", "))",
            remedy: "set them again, or return them to the configuration file (`btcall config \(first) --reset`)")
    }
}
