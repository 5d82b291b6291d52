import BTCallAPI

/// What keeps the bridge from doing all it could.
public struct BridgeProblem: Hashable, Sendable {
    /// A fixed word for programs.
    public let id: String
    public let what: String
    /// What to do about it.
    public let remedy: String

    init(_ description: ProblemDescription) {
        id = description.id
        what = description.what
        remedy = description.remedy
    }
}

/// The whole bridge at one moment.
public struct BridgeStatus: Hashable, Sendable {
    public enum State: String, Hashable, Sendable, CaseIterable {
        case inactive, activating, active, deactivating
    }

    public let version: String
    public let state: State
    public let problems: [BridgeProblem]
    /// Whether the audio device manager is started.
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
    /// Whether calls use a microphone at all; muting is for the calls that there are.
    public let isMicrophoneEnabled: Bool
    /// Who has the audio instead of the calls; empty when nobody has.
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

/// Why the audio is where it is: the walk over the levels of the policy.
public struct RouteExplanation: Hashable, Sendable {
    public struct Level: Hashable, Sendable {
        public let name: String
        /// What the level asks for; nil when it asks for nothing.
        public let spec: String?
        /// The device that it would give.
        public let candidate: String?
        public let verdict: String
        public let isEligible: Bool
        /// What was measured and what it is compared with; nil when the verdict has no number.
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

    /// What comes next by itself.
    public struct Next: Hashable, Sendable {
        /// `mayTakeCall`, `attempt`, `timeOut`, `standIn`, `takeCall`, `closeSilentLink`, `restoreMedia` or `believeJack`.
        public let action: String
        /// The device that it is about; nil for the jack.
        public let device: String?
        /// The time until then; nil when another link has to close first.
        public let remaining: Duration?

        init(_ next: ExplanationDescription.Next) {
            action = next.action
            device = next.device.nonEmpty
            remaining = next.remaining.map { .milliseconds($0) }
        }
    }

    public let chosen: DeviceChoice
    /// The level that gave it; nil when none did.
    public let level: String?
    public let reason: String?
    public let levels: [Level]
    /// Nil when nothing is due.
    public let next: Next?
    /// The same for people, line by line.
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
