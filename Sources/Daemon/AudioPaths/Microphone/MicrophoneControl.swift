import AudioEngine
package import BTCallAPI
package import Configuration
package import ControlLoop
package import Diagnostics
package import Logging
import Routing

/// State of the microphone: joins muting, the access rule, prepared recording and the privacy output.
@ControlPlane
package final class MicrophoneControl {
    /// A client-visible property has changed; sent with the property's name on the bus.
    package let changes = Signal<String>()
    package private(set) var isAlwaysPrepared: Bool
    /// Whether the prepared microphone delivers samples.
    package private(set) var isPrepared = false
    /// Whether samples of a microphone leave the process.
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
    /// A program replaces the devices, or another program has them: no microphone is opened, not even a prepared one.
    private var isGivenUp: Bool
    /// The client's answer under the rule `ask-client`.
    private var isAllowedByClient = false
    private var retry: Timer?
    /// Muting has closed the microphone, and it has not been reopened since the calls were unmuted.
    private var isUnmuting = false
    /// Whether muting kept the microphones closed.
    private var wasClosed = false
    /// Whether a call exists.
    private var isInCall = false
    /// Whether a call sends audio, or no call exists yet.
    private var isRequested = true
    /// A program's audio replaces the microphone.
    private var isReplaced = false
    /// A program captures with a camera.
    private var isCameraInUse = false
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
        retryInterval = configuration.timeouts.localDevice
        output = PrivacyOutput(configuration.privacyOutput, problems: problems)
        mute.apply = { [weak self] _ in self?.follow() }
        graph.events.subscribe(self) { $0.handle($1) }
        follow()
    }

    package func stop() {
        retry?.cancel()
        retry = nil
        output.stop()
    }

    /// Applies a changed configuration.
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

    /// - Parameter isGivenUp: no device may be open without a call, as in manual rendering and during an interruption.
    package func setGivenUp(_ isGivenUp: Bool) {
        guard isGivenUp != self.isGivenUp else { return }
        self.isGivenUp = isGivenUp
        follow()
    }

    /// - Parameter isInCall: whether a call exists, in any state.
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

    /// - Parameter isReplaced: calls are sent a program's audio instead of the microphone, which stays open.
    package func setReplaced(_ isReplaced: Bool) {
        guard isReplaced != self.isReplaced else { return }
        self.isReplaced = isReplaced
        follow()
    }

    /// - Parameter isInUse: a program captures with a camera, which the privacy output covers, too.
    package func setCameraInUse(_ isInUse: Bool) {
        isCameraInUse = isInUse
        showUse()
    }

    // MARK: Access

    package var access: MicrophoneAccess {
        switch rule {
        case .allow: .allowed
        case .deny: .denied
        case .askClient: isAllowedByClient ? .allowed : .waiting
        }
    }

    /// Takes a client's answer under the rule `ask-client`.
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

    /// Checks whether unmuting would let the far end hear a microphone.
    ///
    /// - Throws: `accessDenied`; `notConfigured` without an input if audio.autoConfigure is off.
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

    /// The device of the call, and whether it has a microphone; nil without a route.
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

    /// Starts or stops keeping the microphone of a local device running between calls.
    ///
    /// - Throws: `accessDenied`; `notConfigured` if the board has no microphone of its own.
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
    /// Whether a microphone that cannot be opened is a problem.
    private var isWanted: Bool { isPreparing || isAllowed && isInCall }

    private var muting: Muting {
        switch mute.muting {
        case .everything: .everything
        case .off, .microphone, .deniedMicrophone:
            // A headset's link delivers its microphone, whatever is allowed.
            !isAllowed ? .deniedMicrophone : isReplaced ? .microphone : mute.muting
        }
    }

    private func follow() {
        let isClosed = mute.isMuted && mute.mode == .restart
        if !isAllowed || !isInCall {
            isUnmuting = false
        } else if wasClosed, !isClosed {
            // A headset and a prepared microphone are still open.
            isUnmuting = graph.lacksMicrophone
        }
        wasClosed = isClosed
        graph.engine.setMuting(muting)
        graph.setMicrophones(
            isOpen: isAllowed && !isClosed && isRequested, prepared: isPreparing ? preparedDevice : nil)
        if !isWanted || (!isAlwaysPrepared && isClosed) {
            retry?.cancel()
            retry = nil
        }
        if !isWanted { problems.end(Self.problem) }
        noteUnprepared()
    }

    /// Reports a configuration that wants a microphone that the board does not have.
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

    private func handle(_ event: AudioGraph.Event) {
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
        showUse()
        changes.send(BTCallName.Audio.microphoneInUse)
    }

    private func showUse() {
        let before = output.state
        output.set(isLive || isCameraInUse)
        if output.state != before { changes.send(BTCallName.Audio.privacyOutput) }
    }

    private func opened() {
        isUnmuting = false
        retry?.cancel()
        retry = nil
        problems.end(Self.problem)
    }

    private func failed(_ error: PathError) {
        // The report came late, after the call had ended.
        guard isWanted else { return }
        problems.begin(
            Self.problem, what: "the microphone of \(error.device) is not open: \(error.what)", remedy: error.remedy)
        if isUnmuting, isInCall, !mute.isMuted {
            isUnmuting = false
            // Otherwise people would believe that they are heard.
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
