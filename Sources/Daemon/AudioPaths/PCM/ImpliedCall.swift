package import BluetoothTypes

/// Decides whether programs that play and record on the PCM `btcall:call` make a call, if no application says whose call it is
/// (docs/applications/ALSA.md).
///
/// A value: facts and times in, actions out, which the caller runs in order.
package struct ImpliedCall: Sendable {
    package enum Action: Equatable, Sendable {
        case begin, end
        /// Replaces an earlier deadline.
        case setDeadline(Instant)
    }

    private enum State {
        case idle
        /// Both directions run; this becomes a call at the given time.
        case starting(Instant)
        case up
        /// Neither direction runs; the call ends at the given time.
        case ending(Instant)
        /// The call was ended here: no new one until the streams have stopped.
        case refused
    }

    /// How long both directions must run before they become a call.
    package static let settling = Duration.milliseconds(200)
    /// How long both must have stopped before the call ends.
    package static let lingering = Duration.seconds(1)

    private var state = State.idle
    private var isPlaying = false
    private var isCapturing = false
    private var mayBegin = true
    private var mayLast = true

    package init() {}

    /// Streams have started or stopped.
    package mutating func streams(isPlaying: Bool, isCapturing: Bool, at now: Instant) -> [Action] {
        self.isPlaying = isPlaying
        self.isCapturing = isCapturing
        return settle(now)
    }

    /// - Parameters:
    ///   - mayBegin: no other call has the audio.
    ///   - mayLast: no application has the PCM for its own calls, and calls are accepted at all.
    package mutating func circumstances(mayBegin: Bool, mayLast: Bool, at now: Instant) -> [Action] {
        self.mayBegin = mayBegin
        self.mayLast = mayLast
        return settle(now)
    }

    package mutating func deadlineReached(at now: Instant) -> [Action] { settle(now) }

    /// A person here has ended the call, or the call could not be made.
    package mutating func ended(at now: Instant) -> [Action] {
        switch state {
        case .idle, .starting, .refused: return []
        case .up, .ending: state = .refused
        }
        return settle(now)
    }

    private mutating func settle(_ now: Instant) -> [Action] {
        switch state {
        case .idle:
            guard isPlaying, isCapturing, mayBegin, mayLast else { return [] }
            return wait(now, Self.settling) { .starting($0) }
        case .starting(let due):
            guard isPlaying, isCapturing, mayBegin, mayLast else {
                state = .idle
                return []
            }
            guard now >= due else { return [] }
            state = .up
            return [.begin]
        case .up:
            if !mayLast { return over() }
            if isPlaying || isCapturing { return [] }
            return wait(now, Self.lingering) { .ending($0) }
        case .ending(let due):
            if !mayLast { return over() }
            if isPlaying || isCapturing {
                state = .up
                return []
            }
            return now >= due ? over() : []
        case .refused:
            if isPlaying || isCapturing, mayLast { return [] }
            state = .idle
            return []
        }
    }

    private mutating func wait(_ now: Instant, _ time: Duration, _ next: (Instant) -> State) -> [Action] {
        let due = now.advanced(by: time)
        state = next(due)
        return [.setDeadline(due)]
    }

    private mutating func over() -> [Action] {
        state = .idle
        return [.end]
    }
}
