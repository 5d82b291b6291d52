package import BluetoothTypes
package import ControlLoop
package import Routing

/// Keeps the routing events of the last hours with what was decided, to explain a moment of the past and to replay it
/// elsewhere (routing policy §15).
///
/// In memory only, and bounded there: see `RoutingRecording`.
@ControlPlane
package final class FlightRecorder {
    /// A time of which nothing is known.
    package struct RangeError: Error, Hashable, CustomStringConvertible {
        package let description: String
    }

    /// From an instant on, how far the time of day is ahead of the monotonic clock.
    private struct Offset {
        let start: Instant
        let milliseconds: Int64
    }

    /// A clock that is set more often is not worth following.
    private static let offsetLimit = 64

    private var recording: RoutingRecording
    /// One for each time that the clock was set, or the machine slept, while something was recorded.
    private var offsets: [Offset] = []
    private let pseudonyms = AddressPseudonyms()
    private let version: String
    private let wallClock: @ControlPlane () -> WallClock

    /// - Parameters:
    ///   - version: of the program, for files.
    ///   - recording: an empty one, with other limits for a test.
    package init(
        version: String, recording: RoutingRecording = RoutingRecording(),
        wallClock: @escaping @ControlPlane () -> WallClock = { WallClock.now }
    ) {
        self.version = version
        self.recording = recording
        self.wallClock = wallClock
    }

    // MARK: Recording

    /// To be told before each event.
    ///
    /// - Parameter now: whole milliseconds of `CLOCK_MONOTONIC`.
    package func willHandle(at now: Instant, _ policy: RoutingPolicy) {
        noteOffset(at: now)
        recording.willHandle(at: now, policy)
    }

    /// To be told after each event.
    package func didHandle(_ event: RoutingEvent, at now: Instant, _ policy: RoutingPolicy) {
        recording.didHandle(event, at: now, policy)
    }

    private func noteOffset(at now: Instant) {
        let milliseconds = wallClock().milliseconds - now.nanoseconds / 1_000_000
        // A clock that is only disciplined drifts by less between two events.
        if let last = offsets.last, (last.milliseconds - milliseconds).magnitude < 100 { return }
        if offsets.count == Self.offsetLimit { offsets.removeFirst() }
        offsets.append(Offset(start: now, milliseconds: milliseconds))
    }

    // MARK: Looking back

    /// The policy as it was at a time of day, and that time on the monotonic clock.
    ///
    /// - Parameter milliseconds: since 1970-01-01 00:00 UTC.
    /// - Throws: for a time before the oldest event that is kept, or in the future; says what is kept.
    package func policy(atUnixMilliseconds milliseconds: Int64) throws(RangeError) -> (RoutingPolicy, Instant) {
        let now = wallClock()
        guard let start = recording.start else {
            throw RangeError(description: "nothing has been recorded yet: there was no routing event")
        }
        guard milliseconds <= now.milliseconds, let instant = instant(of: milliseconds), instant >= start,
            let policy = recording.policy(at: instant)
        else {
            let asked = WallClock(milliseconds: milliseconds).iso8601
            throw RangeError(
                description: "nothing is known of \(asked): kept is from \(timeOfDay(start).iso8601) to \(now.iso8601)")
        }
        return (policy, instant)
    }

    /// The events and decisions as a scenario file that `btcall-lab replay` takes; nil before the first event.
    ///
    /// - Parameters:
    ///   - title: what happened, for people.
    ///   - segmentCount: how many of the newest segments; nil for all.
    package func incident(
        title: String, includingAddresses: Bool = false, last segmentCount: Int? = nil
    ) -> String? {
        let name = "incident-" + wallClock().iso8601
        let heading = RoutingRecording.Heading(id: name, title: title, version: version)
        let text = recording.scenarioFile(heading, last: segmentCount) { timeOfDay($0).iso8601 }
        return includingAddresses ? text : text.map { pseudonyms.replacingAddresses(in: $0) }
    }

    // MARK: Times of day

    private func timeOfDay(_ instant: Instant) -> WallClock {
        let offset = offsets.last { $0.start <= instant } ?? offsets.first
        return WallClock(milliseconds: instant.nanoseconds / 1_000_000 + (offset?.milliseconds ?? 0))
    }

    /// The last instant at which it was that time of day; of a time that the clock left out, the instant before the leap.
    private func instant(of milliseconds: Int64) -> Instant? {
        var end: Instant?
        for offset in offsets.reversed() {
            let (monotonic, overflow) = milliseconds.subtractingReportingOverflow(offset.milliseconds)
            guard !overflow, monotonic.magnitude < 1_000_000_000_000 else { return nil }
            let instant = Instant(milliseconds: monotonic)
            if instant >= offset.start {
                guard let end, instant >= end else { return instant }
                return Instant(nanoseconds: end.nanoseconds - 1).wholeMilliseconds
            }
            end = offset.start
        }
        return nil
    }
}
