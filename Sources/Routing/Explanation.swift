package import BluetoothTypes

/// The levels of the choice, in the order in which they are asked (routing policy §5).
package enum RoutingLevel: String, Hashable, Sendable, CaseIterable {
    case jackAfterChoice, explicitChoice, latchedJack, preferred, jackInCall, `default`, platformOrder

    /// The number that the specification gives the level.
    package var number: String {
        switch self {
        case .jackAfterChoice: "0"
        case .explicitChoice: "1"
        case .latchedJack: "1a"
        case .preferred: "2"
        case .jackInCall: "3"
        case .default: "4"
        case .platformOrder: "5"
        }
    }

    package var name: String {
        switch self {
        case .jackAfterChoice: "jack plugged after the choice"
        case .explicitChoice: "explicit choice"
        case .latchedJack: "jack, latched"
        case .preferred: "preferred"
        case .jackInCall: "jack plugged during the call"
        case .default: "default"
        case .platformOrder: "platform order"
        }
    }
}

/// Why a level has nothing to say.
package enum SkipReason: String, Hashable, Sendable, CaseIterable {
    case noExplicitChoice, notSet, jackGestureOff, jackNotLatched, noPlugGesture, pluggedBeforeChoice, nothingPlugged
    case noDefaultToOutrank

    package var text: String {
        switch self {
        case .noExplicitChoice: "no explicit choice"
        case .notSet: "none is set"
        case .jackGestureOff: "jackGesture does not allow it"
        case .jackNotLatched: "jackGesture is not latched"
        case .noPlugGesture: "nothing was plugged during the call"
        case .pluggedBeforeChoice: "the choice is later than the plug"
        case .nothingPlugged: "nothing is plugged in"
        case .noDefaultToOutrank: "there is no default to outrank"
        }
    }
}

/// What keeps a device from carrying the call.
package enum Obstacle: Hashable, Sendable {
    case noDevice, notPresent, notConnected, adapterOff, excluded, masked
    /// A2DP only, and a microphone is wanted that A2DP does not have.
    case mediaOnly
    /// HFP only, and without microphone only A2DP is used.
    case handsFreeOnly
    case unsupportedByCall
    case notLocal
    case penalty(remaining: Duration, attempts: Int, last: LinkFailure)
    case settling(stable: Duration, required: Duration)
    case dwell(carrier: BluetoothAddress, carried: Duration, required: Duration)
    case switchLimit(count: Int, limit: Int, window: Duration)

    /// One stable word a case.
    package var word: String {
        switch self {
        case .noDevice: "noDevice"
        case .notPresent: "notPresent"
        case .notConnected: "notConnected"
        case .adapterOff: "adapterOff"
        case .excluded: "excluded"
        case .masked: "masked"
        case .mediaOnly: "mediaOnly"
        case .handsFreeOnly: "handsFreeOnly"
        case .unsupportedByCall: "unsupportedByCall"
        case .notLocal: "notLocal"
        case .penalty: "penalty"
        case .settling: "settling"
        case .dwell: "dwell"
        case .switchLimit: "switchLimit"
        }
    }

    package var text: String {
        switch self {
        case .noDevice: "no device"
        case .notPresent: "not present"
        case .notConnected: "not connected"
        case .adapterOff: "adapter is off"
        case .excluded: "excluded"
        case .masked: "masked by the jack"
        case .mediaOnly: "A2DP only and allowBluetoothA2DP is off"
        case .handsFreeOnly: "HFP only and microphoneEnabled is off"
        case .unsupportedByCall: "not supported by the call"
        case .notLocal: "not a local device"
        case .penalty(let remaining, let attempts, let last):
            "penalty \(ExplanationText.wholeSeconds(remaining)): \(attempts) \(ExplanationText.word(last))"
        case .settling(let stable, let required):
            "settling: stable for \(ExplanationText.seconds(stable)) of \(ExplanationText.seconds(required))"
        case .dwell(let carrier, let carried, let required):
            "bluetooth:\(carrier) has had the call for \(ExplanationText.seconds(carried))"
                + " of \(ExplanationText.seconds(required))"
        case .switchLimit(let count, let limit, let window):
            "took the call \(count) of \(limit) times in \(ExplanationText.seconds(window))"
        }
    }

    /// What is measured and what it is compared with, in milliseconds or times; nil where nothing is measured.
    package var measure: (value: Int64, limit: Int64)? {
        switch self {
        case .penalty(let remaining, _, _): (remaining.milliseconds, 0)
        case .settling(let stable, let required): (stable.milliseconds, required.milliseconds)
        case .dwell(_, let carried, let required): (carried.milliseconds, required.milliseconds)
        case .switchLimit(let count, let limit, _): (Int64(count), Int64(limit))
        case .noDevice, .notPresent, .notConnected, .adapterOff, .excluded, .masked, .mediaOnly, .handsFreeOnly,
            .unsupportedByCall, .notLocal:
            nil
        }
    }
}

/// What a level comes to.
package enum Verdict: Hashable, Sendable {
    case eligible
    case ineligible(Obstacle)
    case skipped(SkipReason)

    /// `eligible`, or the word of the obstacle or the reason to skip.
    package var word: String {
        switch self {
        case .eligible: "eligible"
        case .ineligible(let obstacle): obstacle.word
        case .skipped(let reason): reason.rawValue
        }
    }

    package var text: String {
        switch self {
        case .eligible: "eligible"
        case .ineligible(let obstacle): obstacle.text
        case .skipped(let reason): reason.text
        }
    }

    /// What is measured and what it is compared with; nil where nothing is measured.
    package var measure: (value: Int64, limit: Int64)? {
        switch self {
        case .ineligible(let obstacle): obstacle.measure
        case .eligible, .skipped: nil
        }
    }
}

/// One level's candidate, and whether it can be used.
package struct LevelFinding: Hashable, Sendable {
    package let level: RoutingLevel
    /// What was asked for, as it was given; nil where the level has no wish of its own.
    package var spec: String?
    package var candidate: Route?
    package var verdict: Verdict
    /// How an explicit choice was made.
    package var note: String?

    static func skipped(_ level: RoutingLevel, _ reason: SkipReason) -> LevelFinding {
        LevelFinding(level: level, candidate: nil, verdict: .skipped(reason))
    }
}

/// Why the audio is where it is: the same walk as the choice, with every level's finding (routing policy §13).
package struct Explanation: Hashable, Sendable {
    /// Why the levels are not asked at all.
    package enum Suspension: String, Hashable, Sendable, CaseIterable {
        case stopped, noCall, interrupted, manualRendering, sessionInactive, held, parked, ringing

        package var text: String {
            switch self {
            case .stopped: "routing is stopped: calls use the system device"
            case .noCall: "no call needs audio"
            case .interrupted: "another owner has the audio"
            case .manualRendering: "the client renders the audio itself"
            case .sessionInactive: "the session is not active"
            case .held: "every call is held and releaseOnHold is on"
            case .parked: "the headset closed its link while every call was held"
            case .ringing: "a call rings: only an in-band ring opens a link"
            }
        }
    }

    package let levels: [LevelFinding]
    /// The first level with an eligible device.
    package let chosen: RoutingLevel?
    /// Nil while the levels decide the route.
    package let suspension: Suspension?
    package let target: Route?
    package let route: Route?
    package let pending: Route?
    /// Why the route last changed, and how long ago; nil before the first change.
    package let reason: RouteChangeReason?
    package let reasonAge: Duration?
}

extension Explanation: CustomStringConvertible {
    /// Several lines for a person, the same for the same facts.
    package var description: String {
        var route = "route: \(route.map(\.description) ?? "none")"
        if let pending { route += ", pending: \(pending)" }
        if let reason, let reasonAge {
            route += " (\(reason.rawValue), \(ExplanationText.seconds(reasonAge)) ago)"
        }
        var lines = [route]
        if let suspension { lines.append("not decided by the levels: \(suspension.text)") }
        lines += levels.map { finding in
            var line = finding.level == chosen ? "* " : "  "
            line += "\(finding.level.number) \(finding.level.name)"
            if let spec = finding.spec { line += ": \(spec)" }
            if let candidate = finding.candidate, candidate.description != finding.spec { line += " -> \(candidate)" }
            line += " — \(finding.verdict.text)"
            if let note = finding.note { line += " (\(note))" }
            return line
        }
        return lines.joined(separator: "\n")
    }
}

/// How explanations write quantities.
enum ExplanationText {
    /// `0.6 s`, rounded down to a tenth.
    static func seconds(_ duration: Duration) -> String {
        let tenths = max(duration.milliseconds, 0) / 100
        return "\(tenths / 10).\(tenths % 10) s"
    }

    /// `9 s`, rounded up.
    static func wholeSeconds(_ duration: Duration) -> String {
        "\((max(duration.milliseconds, 0) + 999) / 1000) s"
    }

    static func word(_ failure: LinkFailure) -> String {
        switch failure {
        case .refused: "refused"
        case .timedOut: "timed out"
        case .failed, .unsupportedCodec: "failed"
        }
    }
}
