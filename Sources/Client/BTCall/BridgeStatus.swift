import BTCallAPI

/// A problem that keeps the bridge from working fully.
public struct BridgeProblem: Hashable, Sendable {
    /// A stable identifier for programs.
    public let id: String
    public let what: String
    /// The action that solves the problem.
    public let remedy: String

    init(_ description: ProblemDescription) {
        id = description.id
        what = description.what
        remedy = description.remedy
    }
}

/// A snapshot of the whole bridge.
public struct BridgeStatus: Hashable, Sendable {
    public enum State: String, Hashable, Sendable, CaseIterable {
        case inactive, activating, active, deactivating
    }

    public let version: String
    public let state: State
    public let problems: [BridgeProblem]
    /// Whether the audio device manager has been started.
    public let isStarted: Bool
    public let preferred: DeviceChoice
    public let defaultDevice: DeviceChoice
    public let selected: DeviceChoice
    /// The device that carries the call; `.none` when no path is open.
    public let route: DeviceChoice
    /// The device whose link is being set up.
    public let pending: DeviceChoice
    /// `hfp` or `a2dp`; nil on local devices and without a path.
    public let mode: String?
    public let codec: String?
    /// Why the route last changed; nil before any change.
    public let reason: String?
    public let isMuted: Bool
    /// Whether calls use a microphone at all; muting concerns the present calls only.
    public let isMicrophoneEnabled: Bool
    /// Sources of the interruptions that have the audio instead of the calls; empty when there are none.
    public let interruptions: [String]
    public let devices: [AudioDevice]
    /// In order of appearance.
    public let calls: [Call]

    init(
        manager: ManagerDescription, router: RouterState, isMuted: Bool, isMicrophoneEnabled: Bool = true, calls: [Call]
    ) {
        version = manager.version
        state = State(manager.state)
        problems = manager.problems.map { BridgeProblem($0) }
        isStarted = router.isStarted
        preferred = DeviceChoice(word: router.preferred)
        defaultDevice = DeviceChoice(word: router.defaultDevice)
        selected = DeviceChoice(word: router.selected)
        route = DeviceChoice(word: router.activeRoute)
        pending = DeviceChoice(word: router.pending)
        mode = router.mode
        codec = router.codec
        reason = router.reason
        self.isMuted = isMuted
        self.isMicrophoneEnabled = isMicrophoneEnabled
        interruptions = router.interruptions
        devices = router.devices.map { AudioDevice($0) }
        self.calls = calls
    }
}

extension BridgeStatus.State {
    init(_ state: ManagerDescription.State) {
        switch state {
        case .inactive: self = .inactive
        case .activating: self = .activating
        case .active: self = .active
        case .deactivating: self = .deactivating
        }
    }
}

/// Explanation of the route: the evaluation of the policy's levels.
public struct RouteExplanation: Hashable, Sendable {
    public struct Level: Hashable, Sendable {
        public let name: String
        /// Device that the level asks for; nil when it asks for none.
        public let spec: String?
        /// Device that the level would select.
        public let candidate: String?
        public let verdict: String
        public let isEligible: Bool
        /// The measured value and its limit; nil when the verdict has no number.
        public let value: String?
        public let limit: String?

        init(_ level: ExplanationDescription.Level) {
            name = level.name
            spec = level.spec.nonEmpty
            candidate = level.candidate.nonEmpty
            verdict = level.verdict
            isEligible = level.isEligible
            value = level.value.nonEmpty
            limit = level.limit.nonEmpty
        }
    }

    /// The next step that the policy takes without further input.
    public struct Next: Hashable, Sendable {
        /// `mayTakeCall`, `attempt`, `timeOut`, `standIn`, `takeCall`, `closeSilentLink`, `restoreMedia` or `believeJack`.
        public let action: String
        /// The device concerned; nil for the jack.
        public let device: String?
        /// Time until then; nil when another link has to close first.
        public let remaining: Duration?

        init(_ next: ExplanationDescription.Next) {
            action = next.action
            device = next.device.nonEmpty
            remaining = next.remaining.map { .milliseconds($0) }
        }
    }

    public let chosen: DeviceChoice
    /// The level that selected the device; nil when none did.
    public let level: String?
    public let reason: String?
    public let levels: [Level]
    /// Nil when nothing is due.
    public let next: Next?
    /// The same explanation for people, line by line.
    public let text: [String]

    init(_ description: ExplanationDescription) {
        chosen = DeviceChoice(word: description.chosen)
        level = description.level.nonEmpty
        reason = description.reason.nonEmpty
        levels = description.levels.map { Level($0) }
        next = description.next.map { Next($0) }
        text = description.text
    }
}
