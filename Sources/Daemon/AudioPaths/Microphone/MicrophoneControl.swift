import AudioEngine
package import BTCallAPI
package import Configuration
package import ControlLoop
package import Diagnostics
package import Logging
import Routing

/// What of the microphone is open, heard and shown: joins muting, the access rule, prepared recording and the privacy output.
@ControlPlane
package final class MicrophoneControl {
    /// What a client can see, by the property's name on the bus.
    package let changes = Signal<String>()
    package private(set) var isAlwaysPrepared: Bool
    /// The prepared microphone gives samples.
    package private(set) var isPrepared = false
    /// Samples of a microphone leave the process towards somebody.
    package private(set) var isLive = false
    package let isAutomatic: Bool
    package let output: PrivacyOutput
    private let graph: AudioGraph
    private let router: any RouteDeciding
    /// Local devices with a microphone of their own.
    private let recording: Set<LocalDevice>
    private let mute: MuteState
    private let paths: any PathOpening
    private let problems: ProblemList
    private let logger: Logger
    private let retryInterval: Duration
    private var rule: MicrophoneRule
    private var isEnabled: Bool
    /// A program is in place of the devices, or somebody else has them: none is opened, to be prepared either.
    private var isGivenUp: Bool
    /// What a client has answered where the rule is to ask.
    private var isAllowedByClient = false
    private var retry: Timer?
    /// The microphone was closed by muting, and has not been opened again since the calls are unmuted.
    private var isUnmuting = false
    /// Muting keeps microphones closed.
    private var wasClosed = false
    /// There is a call.
    private var isInCall = false
    /// Some call sends audio, or there is none yet.
    private var isRequested = true
    private static let problem = "microphone"
    private static let unprepared = "prepared"

    package init(
        _ configuration: Configuration, graph: AudioGraph, router: any RouteDeciding, mute: MuteState,
        paths: any PathOpening, problems: ProblemList, logger: Logger
    ) {
        self.graph = graph
        self.router = router
        recording = Set(configuration.localDevices.filter { $0.value.capture != nil }.keys)
        self.mute = mute
        self.paths = paths
        self.problems = problems
        self.logger = logger
        isAlwaysPrepared = configuration.alwaysPrepared
        isAutomatic = configuration.autoConfigure
        rule = configuration.microphone
        isEnabled = configuration.routing.microphoneEnabled
        isGivenUp = configuration.routing.manualRendering
        retryInterval = configuration.waits.localDevice
        output = PrivacyOutput(configuration.privacyOutput, problems: problems)
        mute.apply = { [weak self] _ in self?.follow() }
        graph.events.subscribe(self) { $0.take($1) }
        follow()
    }

    package func stop() {
        retry?.cancel()
        retry = nil
        output.stop()
    }

    /// Hands over a changed configuration.
    package func follow(_ new: Configuration, replacing old: Configuration) {
        let access = access
        rule = new.microphone
        if new.microphone != old.microphone { isAllowedByClient = false }
        isEnabled = new.routing.microphoneEnabled
        if new.alwaysPrepared != old.alwaysPrepared { prepare(new.alwaysPrepared) }
        follow()
        if access != self.access { changes.send(BTCallName.Audio.microphoneAccess) }
        if new.routing.microphoneEnabled != old.routing.microphoneEnabled {
            changes.send(BTCallName.Audio.microphoneEnabled)
        }
    }

    /// - Parameter isGivenUp: no device is to be open for nobody, as in manual rendering and while an interruption lasts.
    package func setGivenUp(_ isGivenUp: Bool) {
        guard isGivenUp != self.isGivenUp else { return }
        self.isGivenUp = isGivenUp
        follow()
    }

    /// - Parameter isInCall: whether there is a call, in whatever state.
    package func setInCall(_ isInCall: Bool) {
        guard isInCall != self.isInCall else { return }
        self.isInCall = isInCall
        follow()
    }

    /// - Parameter isRequested: false when no call sends audio: the board's microphone is then closed.
    package func setRequested(_ isRequested: Bool) {
        guard isRequested != self.isRequested else { return }
        self.isRequested = isRequested
        follow()
    }

    // MARK: Access

    package var access: MicrophoneAccess {
        switch rule {
        case .allow: .allowed
        case .deny: .denied
        case .askClient: isAllowedByClient ? .allowed : .waiting
        }
    }

    /// A client's answer where the rule is to ask.
    package func allow(_ isAllowed: Bool) throws(APIError) {
        switch rule {
        case .deny: throw Self.denial(rule)
        case .allow:
            guard isAllowed else {
                throw APIError(
                    .wrongState, "the microphone is allowed by privacy.microphone; set that to ask-client or deny")
            }
        case .askClient:
            guard isAllowed != isAllowedByClient else { return }
            isAllowedByClient = isAllowed
            logger.notice("a client has \(isAllowed ? "allowed" : "withdrawn") the microphone")
            follow()
            changes.send(BTCallName.Audio.microphoneAccess)
        }
    }

    private func checkAccess() throws(APIError) {
        if access != .allowed { throw Self.denial(rule) }
    }

    private static func denial(_ rule: MicrophoneRule) -> APIError {
        rule == .deny
            ? APIError(.accessDenied, "the microphone is denied by privacy.microphone = deny in the configuration")
            : APIError(.accessDenied, "the microphone waits for Audio1.AllowMicrophone (`btcall mic allow`)")
    }

    /// Whether unmuting would let the far end hear a microphone.
    ///
    /// - Throws: `accessDenied`; where nothing is configured by itself, `notConfigured` without an input.
    package func checkUnmuting() throws(APIError) {
        try checkAccess()
        guard !isAutomatic else { return }
        guard let input else {
            throw APIError(
                .notConfigured,
                "audio.autoConfigure is off and no device carries the call: start the router (`btcall daemon routing on`) and let a"
                    + " device be chosen before unmuting")
        }
        guard input.isThere else {
            throw APIError(
                .notConfigured,
                "audio.autoConfigure is off and \(input.device) has no microphone: name one, capture = hw:0,0 in"
                    + " [device \(input.device)]")
        }
    }

    /// The device that a call is on, and whether it has a microphone; nil while there is no route.
    private var input: (device: String, isThere: Bool)? {
        router.policy.current.map { ($0.description, hasMicrophone($0)) }
    }

    /// A headset has one, or is used with the board's.
    private func hasMicrophone(_ route: Route) -> Bool {
        guard let local = route.local else { return true }
        if recording.contains(local) { return true }
        return local == .wiredHeadset && !recording.isDisjoint(with: [.speakerphone, .earpiece])
    }

    // MARK: Preparing

    /// Keeps the microphone of a local device running between calls, or no longer.
    ///
    /// - Throws: `accessDenied`; `notConfigured` where the board has no microphone of its own.
    package func setAlwaysPrepared(_ isWanted: Bool) throws(APIError) {
        if isWanted {
            try checkAccess()
            guard preparedDevice != nil else {
                throw APIError(
                    .notConfigured,
                    "neither the speakerphone nor the earpiece has a microphone: name one, capture = hw:0,0 in its"
                        + " section of the configuration")
            }
        }
        guard prepare(isWanted) else { return }
        follow()
    }

    @discardableResult
    private func prepare(_ isWanted: Bool) -> Bool {
        guard isWanted != isAlwaysPrepared else { return false }
        isAlwaysPrepared = isWanted
        changes.send(BTCallName.Audio.recordingAlwaysPrepared)
        return true
    }

    private var preparedDevice: LocalDevice? {
        [LocalDevice.speakerphone, .earpiece].first { paths.microphone(of: $0) != nil }
    }

    // MARK: Steps

    private var isAllowed: Bool { access == .allowed && isEnabled }
    private var isPreparing: Bool { isAllowed && isAlwaysPrepared && !isGivenUp }
    /// A microphone that cannot be opened is missed by somebody.
    private var isWanted: Bool { isPreparing || isAllowed && isInCall }

    private func follow() {
        let isClosed = mute.isMuted && mute.mode == .restart
        if !isAllowed || !isInCall {
            isUnmuting = false
        } else if wasClosed, !isClosed {
            // A headset and a prepared microphone are still there.
            isUnmuting = graph.lacksMicrophone
        }
        wasClosed = isClosed
        graph.engine.setMuting(mute.muting == .off && !isAllowed ? .microphone : mute.muting)
        graph.setMicrophones(
            isOpen: isAllowed && !isClosed && isRequested, prepared: isPreparing ? preparedDevice : nil)
        if !isWanted || (!isAlwaysPrepared && isClosed) {
            retry?.cancel()
            retry = nil
        }
        if !isWanted { problems.end(Self.problem) }
        noteUnprepared()
    }

    /// The configuration can want a microphone that the board does not have.
    private func noteUnprepared() {
        guard isAlwaysPrepared, preparedDevice == nil else {
            problems.end(Self.unprepared)
            return
        }
        problems.begin(
            Self.unprepared,
            what: "no microphone is prepared: neither the speakerphone nor the earpiece has one",
            remedy: "name one, capture = hw:0,0 in [device speakerphone], or take audio.alwaysPrepared out")
    }

    // MARK: Events

    private func take(_ event: AudioGraph.Event) {
        switch event {
        case .microphoneReady(let isReady): ready(isReady)
        case .microphoneOpened: opened()
        case .microphoneFailed(let error): failed(error)
        case .microphoneLive(let isLive): live(isLive)
        case .firstPacket, .linkSilent, .linkResumed, .linkLost, .linkClosed, .pathFailed, .callAudioClosed,
            .injectionEnded, .speakingWhileMuted, .manualEnded, .tapEnded, .outputFailed, .routed:
            break
        }
    }

    private func ready(_ isReady: Bool) {
        guard isReady != isPrepared else { return }
        isPrepared = isReady
        changes.send(BTCallName.Audio.prepared)
    }

    private func live(_ isLive: Bool) {
        guard isLive != self.isLive else { return }
        self.isLive = isLive
        let before = output.state
        output.set(isLive)
        changes.send(BTCallName.Audio.microphoneInUse)
        if output.state != before { changes.send(BTCallName.Audio.privacyOutput) }
    }

    private func opened() {
        isUnmuting = false
        retry?.cancel()
        retry = nil
        problems.end(Self.problem)
    }

    private func failed(_ error: PathError) {
        // Told late, when the call was over.
        guard isWanted else { return }
        problems.begin(
            Self.problem, what: "the microphone of \(error.device) is not open: \(error.what)", remedy: error.remedy)
        if isUnmuting, isInCall, !mute.isMuted {
            isUnmuting = false
            // Otherwise people would take silence for being heard.
            mute.set(true)
            return
        }
        guard retry == nil else { return }
        retry = ControlLoop.shared.schedule(after: retryInterval) { [weak self] in
            self?.retry = nil
            self?.graph.retryMicrophones()
        }
    }
}
