/// The seven indicators of +CIND and +CIEV, in the order that headsets expect (HFP 1.9 §4.34.2). The raw value is the index
/// in +CIEV.
package enum Indicator: Int, Hashable, Sendable, CaseIterable {
    case service = 1
    case call, callSetup, callHeld, signal, roam, battery

    package var name: String {
        switch self {
        case .service: "service"
        case .call: "call"
        case .callSetup: "callsetup"
        case .callHeld: "callheld"
        case .signal: "signal"
        case .roam: "roam"
        case .battery: "battchg"
        }
    }

    package var range: ClosedRange<Int> {
        switch self {
        case .service, .call, .roam: 0...1
        case .callHeld: 0...2
        case .callSetup: 0...3
        case .signal, .battery: 0...5
        }
    }

    /// The range in the notation of +CIND=?: two values as a list, more as a range.
    var rangeText: String { range.count == 2 ? "(0,1)" : "(0-\(range.upperBound))" }

    /// The three that AT+BIA cannot switch off.
    package var isMandatory: Bool {
        switch self {
        case .call, .callSetup, .callHeld: true
        case .service, .signal, .roam, .battery: false
        }
    }
}

/// Values of all indicators, each always within its range.
package struct IndicatorValues: Hashable, Sendable {
    private var values: [Int]

    /// Network available, full signal and battery, no calls.
    package init(service: Int = 1, signal: Int = 5, roam: Int = 0, battery: Int = 5) {
        values = Indicator.allCases.map { _ in 0 }
        self[.service] = service
        self[.signal] = signal
        self[.roam] = roam
        self[.battery] = battery
    }

    package subscript(indicator: Indicator) -> Int {
        get { values[indicator.rawValue - 1] }
        set {
            let range = indicator.range
            values[indicator.rawValue - 1] = min(max(newValue, range.lowerBound), range.upperBound)
        }
    }
}

/// Indicators that a headset reports by AT+BIEV (Assigned Numbers, Hands-Free Profile). The raw value is the assigned
/// number.
package enum HFIndicator: Int, Hashable, Sendable, CaseIterable, Comparable {
    case enhancedSafety = 1
    case batteryLevel = 2

    package var range: ClosedRange<Int> {
        switch self {
        case .enhancedSafety: 0...1
        case .batteryLevel: 0...100
        }
    }

    package static func < (left: HFIndicator, right: HFIndicator) -> Bool { left.rawValue < right.rawValue }
}
