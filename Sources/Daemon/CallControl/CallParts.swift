package import AudioPaths
import BTCallAPI
import BluetoothTypes
package import Configuration
package import ControlLoop
package import DBus
package import Diagnostics
package import Logging
import Routing
import Telephony

/// The components that handle calls: their owners, audio, limits and records.
@ControlPlane
package final class CallParts {
    package let directory: CallDirectory
    package let audio: CallAudio
    package let taps: CallTaps
    package let quality: CallQualityMonitor
    package let interruptions = Interruptions()
    package let access: AudioAccess
    package let log: CallLog
    package let pcmCalls: PCMCalls
    private let holds: InterruptionHolds
    private let ringLimit: RingLimit
    private let audibility: CallAudibility
    private let journal: CallJournal?
    private let readers: CallerReaders
    private let bus: BusConnection
    private let microphone: MicrophoneControl
    private let mute: MuteState
    private let logger: Logger

    package init(
        settings: Settings, bus: BusConnection, audio parts: AudioParts, router: any RouteDeciding,
        writer: StateWriter, problems: ProblemList, logger: Logger
    ) {
        let configuration = settings.configuration
        self.bus = bus
        self.logger = logger
        microphone = parts.microphone
        mute = parts.mute
        audio = CallAudio(graph: parts.graph, logger: logger)
        directory = CallDirectory(
            bus: bus, audio: audio, tones: parts.sounds.tones, deadline: configuration.timeouts.provider,
            contactBudget: configuration.timeouts.contact, logger: logger)
        directory.absenceTimeout = configuration.timeouts.absence
        directory.mediaTimeout = configuration.timeouts.media
        directory.routing.subscribe { [weak router] event in router?.handle(event) }
        directory.snapshots.subscribe(parts.sounds.tones) { $0.follow($1) }
        quality = CallQualityMonitor(
            graph: parts.graph, calls: directory, interval: configuration.timeouts.quality,
            window: configuration.timeouts.qualityWindow, timeout: configuration.timeouts.silence)
        taps = CallTaps(
            graph: parts.graph, calls: directory, consent: configuration.recording,
            consentTimeout: configuration.timeouts.recording, logger: logger)
        pcmCalls = PCMCalls(calls: directory, pcm: parts.pcm, logger: logger)
        holds = InterruptionHolds(calls: directory, isOn: configuration.holdsInterrupted, logger: logger)
        access = AudioAccess(
            interruptions: interruptions, holds: holds, calls: directory, audio: parts, router: router,
            settings: settings)
        ringLimit = RingLimit(calls: directory, limit: configuration.ringLimit, logger: logger)
        audibility = CallAudibility(
            calls: directory, quality: quality, router: router,
            hasLocalDevices: !configuration.localDevices.isEmpty, delay: configuration.timeouts.silence,
            problems: problems)
        journal = Self.journal(configuration, problems)
        log = Self.log(configuration, writer, problems, logger)
        readers = CallerReaders(bus: bus, group: configuration.group)
        set(configuration)
        bus.onStateChange = { [weak directory] state in
            if state == .connected { directory?.busReturned() }
        }
        directory.routing.subscribe(self) { calls, event in
            if case .callMedia = event { calls.followMedia() }
        }
        directory.changes.subscribe(self) { $0.handle($1) }
        directory.refusals.subscribe(log) { $0.add($1) }
    }

    /// Applies a changed configuration.
    package func follow(_ new: Configuration, replacing old: Configuration) {
        taps.consent = new.recording
        holds.isOn = new.holdsInterrupted
        access.update()
        set(new)
        guard new.callPolicy.doNotDisturb != old.callPolicy.doNotDisturb else { return }
        logger.notice("do not disturb is \(new.callPolicy.doNotDisturb ? "on: incoming calls are refused" : "off")")
    }

    private func set(_ configuration: Configuration) {
        directory.policy = configuration.callPolicy
        directory.configuredMedia = MediaState(audio: configuration.audioDirection, video: configuration.videoDirection)
        directory.mediaChangeRule = configuration.mediaChange
        directory.configuredTalkMode = configuration.talk.mode
        directory.identity = configuration.identity
        ringLimit.limit = configuration.ringLimit
        bus.readers = configuration.callers == .everybody ? nil : readers.readers
    }

    private func handle(_ change: CallDirectory.Change) {
        microphone.setInCall(!directory.calls.isEmpty)
        followMedia()
        if directory.calls.isEmpty { mute.set(false) }
        guard case .ended(let record, let reason) = change else { return }
        journal?.write(record, reason)
        log.add(record, reason)
    }

    /// Requests the microphone unless calls exist and none of them sends audio.
    private func followMedia() {
        let all = directory.calls
        microphone.setRequested(all.isEmpty || all.contains { $0.media.audio.sends })
    }

    private static func journal(_ configuration: Configuration, _ problems: ProblemList) -> CallJournal? {
        configuration.callRecord.map {
            CallJournal(
                path: $0, withNumbers: configuration.recordsNumbers, limitKiB: configuration.recordKiB,
                problems: problems)
        }
    }

    /// With recording off, the log of calls is kept in memory only.
    private static func log(
        _ configuration: Configuration, _ writer: StateWriter, _ problems: ProblemList, _ logger: Logger
    ) -> CallLog {
        let directory = configuration.callRecord == nil ? nil : configuration.stateDirectory
        return CallLog(
            file: directory.map { CallLogFile(directory: $0) }, withNumbers: configuration.recordsNumbers,
            writer: writer, problems: problems, logger: logger)
    }

    package func stop() {
        ringLimit.stop()
        audibility.stop()
        pcmCalls.stop()
        interruptions.close()
        access.close()
    }
}
