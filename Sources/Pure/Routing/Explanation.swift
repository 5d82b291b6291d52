package import BluetoothTypes

/// The levels of the choice, in the order of evaluation (docs/inside/Routing.md §5).
package enum RoutingLevel: String, Hashable, Sendable, CaseIterable {
    case jackAfterChoice, explicitChoice, latchedJack, preferred, jackInCall, `default`, platformOrder

    /// Number of the level in docs/inside/Routing.md §5.
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

    /// Name on the bus (`levels` of `Router1.Explain`).
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

    /// Name in the text for people, who set the default with `btcall fallback`.
    var title: String { self == .default ? "fallback" : name }
}

/// Reason why a level yields no candidate.
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
        case .noDefaultToOutrank: "there is no fallback to outrank"
        }
    }
}

/// Reason why a device cannot carry the call.
package enum Obstacle: Hashable, Sendable {
    case noDevice, notPresent, notConnected, adapterOff, excluded, masked
    /// Not connected; once connected and stable for this long, it takes the call.
    case awaited(required: Duration)
    /// Not connected since it vanished during a call.
    case lost(ago: Duration, required: Duration)
    /// A2DP only, but a microphone is required, which A2DP lacks.
    case mediaOnly
    /// HFP only, but without a microphone only A2DP is used.
    case handsFreeOnly
    case unsupportedByCall
    case notLocal
    /// Its link is open only while somebody talks.
    case resting
    case penalty(remaining: Duration, attempts: Int, last: LinkFailure)
    case settling(stable: Duration, required: Duration)
    case dwell(carrier: BluetoothAddress, carried: Duration, required: Duration)
    case switchLimit(count: Int, limit: Int, window: Duration)

    /// One stable word per case.
    package var word: String {
        switch self {
        case .noDevice: "noDevice"
        case .notPresent: "notPresent"
        case .notConnected: "notConnected"
        case .awaited: "awaited"
        case .lost: "lost"
        case .adapterOff: "adapterOff"
        case .excluded: "excluded"
        case .masked: "masked"
        case .mediaOnly: "mediaOnly"
        case .handsFreeOnly: "handsFreeOnly"
        case .unsupportedByCall: "unsupportedByCall"
        case .notLocal: "notLocal"
        case .resting: "resting"
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
        case .awaited(let required):
            "not connected: must be stable for \(ExplanationText.seconds(required)) when it comes"
        case .lost(let ago, let required):
            "not connected: lost \(ExplanationText.seconds(ago)) ago,"
                + " must be stable for \(ExplanationText.seconds(required)) on return"
        case .adapterOff: "adapter is off"
        case .excluded: "excluded"
        case .masked: "masked by the jack"
        case .mediaOnly: "A2DP only and allowBluetoothA2DP is off"
        case .handsFreeOnly: "HFP only and microphoneEnabled is off"
        case .unsupportedByCall: "not supported by the call"
        case .notLocal: "not a local device"
        case .resting: "its link is open only while somebody talks"
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

    /// The measured value and its limit; nil if nothing is measured.
    package var measure: Measure? {
        switch self {
        // A missing device has been stable for no time.
        case .awaited(let required): Measure(.zero, of: required)
        case .lost(let ago, let required): Measure(ago, of: required)
        case .penalty(let remaining, _, _): Measure(remaining, of: .zero)
        case .settling(let stable, let required): Measure(stable, of: required)
        case .dwell(_, let carried, let required): Measure(carried, of: required)
        case .switchLimit(let count, let limit, _): Measure(value: Int64(count), limit: Int64(limit), unit: "times")
        case .noDevice, .notPresent, .notConnected, .adapterOff, .excluded, .masked, .mediaOnly, .handsFreeOnly,
            .unsupportedByCall, .notLocal, .resting:
            nil
        }
    }
}

/// State of a headset that can carry the call, with measured value and limit.
package enum Standing: Hashable, Sendable {
    /// - Parameter isRequired: false while nothing is open from which the headset would take the call.
    case stable(Duration, required: Duration, isRequired: Bool)
    /// It is the route.
    case carrying(Duration, kept: Duration)
    /// Its link is being set up.
    case opening(attempt: Int, of: Int, elapsed: Duration, timeout: Duration)
    /// The pause before the next attempt.
    case pausing(attempt: Int, of: Int, elapsed: Duration, pause: Duration)
    /// Waits for another link to close.
    case queued(attempt: Int, of: Int)
    /// No packet on its open link.
    case silent(Duration, closedAfter: Duration)
    /// Packets have resumed after a silence.
    case steady(Duration, required: Duration)

    package var text: String {
        switch self {
        case .stable(let stable, let required, _) where stable >= required:
            "stable for \(ExplanationText.seconds(stable))"
        case .stable(let stable, let required, let isRequired):
            "stable for \(ExplanationText.seconds(stable)) of \(ExplanationText.seconds(required))"
                + (isRequired ? "" : ", not required while nothing is open")
        case .carrying(let carried, let kept):
            "carries the call for \(ExplanationText.seconds(carried)), kept \(ExplanationText.seconds(kept))"
        case .opening, .pausing, .queued:
            "pending, \(progress ?? "")"
        case .silent(let silent, let limit):
            "silent for \(ExplanationText.seconds(silent)), closed after \(ExplanationText.seconds(limit))"
        case .steady(let steady, let required):
            "packets again for \(ExplanationText.seconds(steady)) of \(ExplanationText.seconds(required))"
        }
    }

    /// Progress of the link's set-up; nil without one.
    package var progress: String? {
        switch self {
        case .opening(let attempt, let attempts, let elapsed, let timeout):
            "attempt \(attempt) of \(attempts),"
                + " \(ExplanationText.seconds(elapsed)) of \(ExplanationText.seconds(timeout))"
        case .pausing(let attempt, let attempts, let elapsed, let pause):
            "attempt \(attempt) of \(attempts) after a pause,"
                + " \(ExplanationText.seconds(elapsed)) of \(ExplanationText.seconds(pause))"
        case .queued(let attempt, let attempts):
            "attempt \(attempt) of \(attempts) when another link is closed"
        case .stable, .carrying, .silent, .steady:
            nil
        }
    }

    package var measure: Measure {
        switch self {
        case .stable(let value, let limit, _), .carrying(let value, let limit), .opening(_, _, let value, let limit),
            .pausing(_, _, let value, let limit), .silent(let value, let limit), .steady(let value, let limit):
            Measure(value, of: limit)
        case .queued(let attempt, let attempts):
            Measure(value: Int64(attempt), limit: Int64(attempts), unit: "attempts")
        }
    }
}

/// Result of a level.
package enum Verdict: Hashable, Sendable {
    /// A verdict without measured values.
    package enum Kind: Hashable, Sendable {
        case eligible, ineligible, skipped
    }

    /// With the state of a headset; nil for a device of the board.
    case eligible(Standing?)
    case ineligible(Obstacle)
    case skipped(SkipReason)

    package var kind: Kind {
        switch self {
        case .eligible: .eligible
        case .ineligible: .ineligible
        case .skipped: .skipped
        }
    }

    /// `eligible`, or the word of the obstacle or of the reason to skip.
    package var word: String {
        switch self {
        case .eligible: "eligible"
        case .ineligible(let obstacle): obstacle.word
        case .skipped(let reason): reason.rawValue
        }
    }

    package var text: String {
        switch self {
        case .eligible(let standing): standing.map { "eligible: \($0.text)" } ?? "eligible"
        case .ineligible(let obstacle): obstacle.text
        case .skipped(let reason): reason.text
        }
    }

    /// The measured value and its limit; nil if nothing is measured.
    package var measure: Measure? {
        switch self {
        case .eligible(let standing): standing?.measure
        case .ineligible(let obstacle): obstacle.measure
        case .skipped: nil
        }
    }
}

/// One level's candidate and verdict.
package struct LevelFinding: Hashable, Sendable {
    package let level: RoutingLevel
    /// The request in its original form; nil if the level has none.
    package var spec: String?
    package var candidate: Route?
    package var verdict: Verdict
    /// Origin of an explicit choice.
    package var note: String?
    /// For a level with any headset: the headset ranked next, or ranked first if it were eligible.
    package var rival: Rival?
}

/// Explains where the audio is: the same evaluation as the choice, with every level's finding (docs/inside/Routing.md §13).
package struct Explanation: Hashable, Sendable {
    /// Reason why the levels are not evaluated.
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

    package struct Gap: Hashable, Sendable {
        package let value: Duration
        package let limit: Duration
    }

    package let levels: [LevelFinding]
    /// First level with an eligible device.
    package let chosen: RoutingLevel?
    /// Nil while the levels decide the route.
    package let suspension: Suspension?
    package let target: Route?
    package let route: Route?
    package let pending: Route?
    /// Progress of the pending link's set-up; nil when none is pending.
    package let pendingStanding: Standing?
    /// Time without a path, and the limit after which a local device stands in; nil while none is awaited.
    package let gap: Gap?
    /// Reason and age of the last change of route; nil before the first one.
    package let reason: RouteChangeReason?
    package let reasonAge: Duration?
    /// Time that had to pass for that reason; nil if none, or if it is not fixed.
    package let reasonLimit: Duration?
    /// Next action if no event occurs; nil when nothing is due.
    package let next: NextAction?
}

extension Explanation: CustomStringConvertible {
    /// Several lines of text, the same for the same facts.
    package var description: String {
        var route = "route: \(route.map(\.description) ?? "none")"
        if let reason, let reasonAge {
            route += " (\(reason.rawValue)\(limitText), \(ExplanationText.seconds(reasonAge)) ago)"
        }
        if let gap {
            route += ", no path for \(ExplanationText.seconds(gap.value)) of \(ExplanationText.seconds(gap.limit))"
        }
        if let pending {
            route += ", pending: \(pending)"
            if let progress = pendingStanding?.progress { route += " (\(progress))" }
        }
        var lines = [route]
        if let suspension { lines.append("not decided by the levels: \(suspension.text)") }
        lines += levels.map { finding in
            var line = finding.level == chosen ? "* " : "  "
            line += "\(finding.level.number) \(finding.level.title)"
            if let spec = finding.spec { line += ": \(spec)" }
            if let candidate = finding.candidate, candidate.description != finding.spec { line += " -> \(candidate)" }
            line += " — \(finding.verdict.text)"
            if let rival = finding.rival { line += "; \(rival.text)" }
            if let note = finding.note { line += " (\(note))" }
            return line
        }
        lines.append("next: \(next?.text ?? "nothing is due")")
        return lines.joined(separator: "\n")
    }

    private var limitText: String {
        switch (reason, reasonLimit) {
        case (.linkSilent, let limit?): " after \(limit.milliseconds) ms without a packet"
        case (.bridge, let limit?): " after \(ExplanationText.seconds(limit)) without a path"
        default: ""
        }
    }
}

/// Formats quantities for explanations.
enum ExplanationText {
    /// `0.6 s`, rounded down to a tenth.
    static func seconds(_ duration: Duration) -> String {
        let tenths = max(duration.milliseconds, 0) / 100
        return "\(tenths / 10).\(tenths % 10) s"
    }

    /// `0.6 s`, rounded up to a tenth: remaining time never reads as elapsed.
    static func remaining(_ duration: Duration) -> String {
        seconds(duration + .milliseconds(99))
    }

    /// `9 s`, rounded up.
    static func wholeSeconds(_ duration: Duration) -> String {
        "\((max(duration.milliseconds, 0) + 999) / 1000) s"
    }

    static func word(_ failure: LinkFailure) -> String {
        switch failure {
        case .refused: "refused"
        case .busy: "busy: another program has its voice link"
        case .timedOut: "timed out"
        case .failed, .unsupportedCodec: "failed"
        }
    }
}
