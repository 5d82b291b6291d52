package import BluetoothTypes

/// Follows a headset through the service level connection (HFP 1.9 §4.2), in any order of commands.
///
/// It is established when the headset has sent its features, read the indicators, sent AT+CMER, and queried what both sides
/// support (three-way list, HF indicators). AT+CMER counts whatever it switches: a headset that does not use indicators
/// sends it with reporting off. A headset that omits a step is accepted once it has sent AT+CMER and been quiet for
/// `settleTime`, or for twice its own longest pause so far, because some car kits take seconds for each command
/// (docs/inside/Interop.md A8, A26). Until then nothing unsolicited may be sent.
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
    /// The headset's features; before AT+BRSF, or without it (HFP 0.96), those of its service record.
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
    ///   - gateway: features of +BRSF.
    ///   - recorded: features of the headset's service record.
    ///   - timeout: for the whole connection, from `start`.
    package init(gateway: AudioGatewayFeatures, recorded: HandsFreeFeatures = [], timeout: Duration) {
        self.gateway = gateway
        features = recorded
        self.timeout = timeout
    }

    package mutating func start(at now: Instant) {
        startedAt = now
    }

    /// Establishes it without commands: the Headset Profile has no dialogue before the first button.
    package mutating func establish() {
        isEstablished = true
    }

    /// Records the time of a command of any kind.
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

    /// Whether both sides announced the feature.
    package var usesCodecNegotiation: Bool {
        gateway.contains(.codecNegotiation) && features.contains(.codecNegotiation)
    }

    package var usesHFIndicators: Bool {
        gateway.contains(.hfIndicators) && features.contains(.hfIndicators)
    }

    package var usesThreeWay: Bool {
        gateway.contains(.threeWay) && features.contains(.threeWay)
    }

    /// Next time for `deadlineReached`; nil when established.
    package var deadline: Instant? {
        guard !isEstablished, let startedAt else { return nil }
        let last = startedAt.advanced(by: timeout)
        guard hasReporting, let lastCommandAt else { return last }
        return min(last, lastCommandAt.advanced(by: max(Self.settleTime, longestPause * 2)))
    }

    /// - Returns: true once, when the connection becomes established.
    package mutating func advance() -> Bool {
        guard !isEstablished, isComplete else { return false }
        isEstablished = true
        return true
    }

    package enum Outcome: Hashable, Sendable { case pending, established, timedOut }

    /// Accepts a headset that has been quiet after AT+CMER, or gives up one that has not sent it.
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
