package import BluetoothTypes

/// Follows a headset through the service level connection (HFP 1.9 §4.2) in whatever order its commands come.
///
/// It is established when the headset has said its features, read the indicators, sent AT+CMER, and asked for what both
/// sides announced (three-way list, HF indicators). AT+CMER counts whatever it switches: a headset without use for
/// indicators sends it with reporting off. A headset that leaves one of these out is taken as it is once it has sent
/// AT+CMER and has been quiet for `settleTime`, or for twice its own longest pause so far, because some car kits take
/// seconds for each command (docs/inside/Interop.md A8, A26). Until then nothing unsolicited may be sent.
package struct ServiceLevelConnection: Sendable {
    package enum Step: Hashable, Sendable {
        case features(HandsFreeFeatures)
        case indicatorList, indicatorValues
        case reporting
        case threeWayList
        case hfIndicators([HFIndicator])
        case hfIndicatorList, hfIndicatorStates
    }

    package private(set) var isEstablished = false
    /// As the headset said; before it did, and for one that never does (HFP 0.96), as its service record says.
    package private(set) var features: HandsFreeFeatures
    package private(set) var hfIndicators: [HFIndicator] = []
    private let gateway: AudioGatewayFeatures
    private let timeout: Duration
    private var startedAt: Instant?
    private var lastCommandAt: Instant?
    private var longestPause = Duration.zero
    private var hasFeatures = false
    private var hasIndicatorValues = false
    private var hasReporting = false
    private var hasThreeWayList = false
    private var hasHFIndicators = false
    private var hasHFIndicatorStates = false

    package static let settleTime = Duration.seconds(2)

    /// - Parameters:
    ///   - gateway: as +BRSF says them.
    ///   - recorded: as the headset's service record says them.
    ///   - timeout: for all of it, from `start`.
    package init(gateway: AudioGatewayFeatures, recorded: HandsFreeFeatures = [], timeout: Duration) {
        self.gateway = gateway
        features = recorded
        self.timeout = timeout
    }

    package mutating func start(at now: Instant) {
        startedAt = now
    }

    /// Without any of it: the Headset Profile has no dialogue before the first button.
    package mutating func establish() {
        isEstablished = true
    }

    /// Any command at all.
    package mutating func commandReceived(at now: Instant) {
        if let lastCommandAt { longestPause = max(longestPause, lastCommandAt.duration(to: now)) }
        lastCommandAt = now
    }

    package mutating func heard(_ step: Step) {
        switch step {
        case .features(let features):
            self.features = features
            hasFeatures = true
        case .indicatorList: break
        case .indicatorValues: hasIndicatorValues = true
        case .reporting: hasReporting = true
        case .threeWayList: hasThreeWayList = true
        case .hfIndicators(let list):
            hfIndicators = list
            hasHFIndicators = true
        case .hfIndicatorList: break
        case .hfIndicatorStates: hasHFIndicatorStates = true
        }
    }

    /// Whether the feature is announced by both sides.
    package var usesCodecNegotiation: Bool {
        gateway.contains(.codecNegotiation) && features.contains(.codecNegotiation)
    }

    package var usesHFIndicators: Bool {
        gateway.contains(.hfIndicators) && features.contains(.hfIndicators)
    }

    package var usesThreeWay: Bool {
        gateway.contains(.threeWay) && features.contains(.threeWay)
    }

    /// When `deadlineReached` wants to be called; nil when established.
    package var deadline: Instant? {
        guard !isEstablished, let startedAt else { return nil }
        let last = startedAt.advanced(by: timeout)
        guard hasReporting, let lastCommandAt else { return last }
        return min(last, lastCommandAt.advanced(by: max(Self.settleTime, longestPause * 2)))
    }

    /// - Returns: true once, when it is established.
    package mutating func advance() -> Bool {
        guard !isEstablished, isComplete else { return false }
        isEstablished = true
        return true
    }

    package enum Outcome: Hashable, Sendable { case pending, established, timedOut }

    package mutating func deadlineReached(at now: Instant) -> Outcome {
        guard let deadline, deadline <= now else { return .pending }
        guard hasReporting else { return .timedOut }
        isEstablished = true
        return .established
    }

    private var isComplete: Bool {
        hasFeatures && hasIndicatorValues && hasReporting && (hasThreeWayList || !usesThreeWay)
            && (hasHFIndicators && hasHFIndicatorStates || !usesHFIndicators)
    }
}
