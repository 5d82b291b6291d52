import AudioEngine
import AudioPaths
import BTCallAPI
import BusObjects
import CallControl
package import Configuration
import ControlLoop
import DBus
import Diagnostics
import HeadsetControl
package import Logging
import Routing

// What is set at run time: settings, preferences, and what keeps them over a restart.
extension Daemon {
    package func exportSession() {
        let name = "\(ConfigurationSection.routing.settingPrefix).\(RoutingKey.manualAudio.rawValue)"
        let settings = settings
        let session = SessionObject(
            bus: bus,
            manual: .init(
                get: { settings.configuration.routing.manualAudio },
                set: { isManual throws(APIError) in try settings.set(name, isManual ? "true" : "false") }),
            configurator: audioConfigurator)
        session.onEvent = { [weak self] event in self?.router.handle(event) }
        sessionObject = session
    }

    /// Hands a changed configuration to those who work by it.
    package func apply(_ new: Configuration, replacing old: Configuration) {
        if new.logLevel != old.logLevel { LogThreshold.level = new.logLevel }
        if new.routing != old.routing {
            admission.pause = new.routing.reopenPause
            graph.setSilentLimit(new.routing.silentLimit > .zero ? new.routing.silentLimit : nil)
            followManualRendering()
            if new.routing.manualAudio != old.routing.manualAudio { sessionObject?.manualChanged() }
        }
        microphone.follow(new, replacing: old)
        boardBattery.source = new.boardBattery
        taps.consent = new.recording
        followCallers(new)
        updateGateway(new)
        if new.headsetProfile != old.headsetProfile { followHeadsetProfile() }
        voiceRouting.follow(new.scoRouting)
        metricsListener.follow(new.metricsPort)
        if new.a2dp != old.a2dp || new.a2dpQuality != old.a2dpQuality || new.listener != old.listener { followA2DP() }
        expectedProfiles.follow(new.profileWaits)
        reconnector.follow(new.reconnectSettings)
        peace.setDelay(new.routing.mediaRestore)
        players.isOn = new.pausesPlayers
        graph.engine.setPrimeBlocks(new.callQueueBlocks)
        outside.paths.setPeriod(new.periodMilliseconds)
        voice.follow(new)
        applySounds(new)
        if new.callPolicy != old.callPolicy { follow(new.callPolicy, replacing: old.callPolicy) }
        applyMedia(new)
        applyIdentity(new, replacing: old)
    }

    /// Who reads with whom calls are.
    package func followCallers(_ configuration: Configuration) {
        bus.readers = configuration.callers == .everybody ? nil : callerReaders.readers
    }

    // MARK: What is kept

    /// What was kept; nothing when the file cannot be read, with the reason in the log.
    package static func load(_ store: PreferenceStore?, _ logger: Logger) -> PreferenceStore.Preferences {
        guard let store else { return .init() }
        do throws(ConfigurationError) {
            let (preferences, leftOut) = try store.load()
            for error in leftOut { logger.warning("a preference kept from before is ignored: \(error)") }
            return preferences
        } catch {
            logger.error("preferences are not restored: \(error)")
            return .init()
        }
    }

    package func restorePreferences() {
        if let device = kept.preferred.flatMap({ AudioDevice(parsing: $0) }) { router.handle(.setPreferred(device)) }
        if let device = kept.standard.flatMap({ AudioDevice(parsing: $0) }) { router.handle(.setDefault(device)) }
        restoreAudio()
    }

    package func keepPreferences() {
        guard let store else { return }
        let policy = router.policy
        var preferences = PreferenceStore.Preferences(
            preferred: policy.preferred.description, standard: policy.defaultDevice.description,
            settings: settings.runtime)
        preferences.muteMode = mute.mode.rawValue
        preferences.microphoneVolume = applicationAudio.microphoneVolume
        preferences.applicationVolume = applicationAudio.applicationVolume
        writer.write(PreferenceStore.text(preferences), to: store.file) { [problems] error in
            guard let error else { return problems.end("state") }
            let failure = PreferenceStore.Failure(path: store.file.path, error: error)
            problems.begin("state", what: "preferences are not kept", remedy: "\(failure)")
        }
    }

    /// Shows which settings from before are not in force any more, until each is set again or given back.
    package func showDropped() {
        settings.onDropped = { [weak self] in self?.showDropped() }
        let names = settings.dropped.sorted()
        guard let first = names.first else { return problems.end("settings") }
        problems.begin(
            "settings", what: "settings kept from before are not accepted any more: \(names.joined(separator: ", "))",
            remedy: "set them anew, or give them back to the configuration file (`btcall config \(first) --reset`)")
    }
}
