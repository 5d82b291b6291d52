package import BluetoothTypes
package import ControlLoop
package import Routing

/// Records the routing events of the last hours and the decisions, to explain a past moment and to replay it elsewhere.
///
/// Kept in memory only, with a bounded size: see `RoutingRecording`.
@ControlPlane
package final class FlightRecorder {
    /// A time that the recording does not cover.
    package struct RangeError: Error, Hashable, CustomStringConvertible {
        package let description: String
    }

    /// The difference between the time of day and the monotonic clock, from an instant on.
    private struct Offset {
        let start: Instant
        let milliseconds: Int64
    }

    /// The most offsets kept; the oldest are dropped.
    private static let offsetLimit = 64

    private var recording: RoutingRecording
    /// One entry for each time that the clock was set or the machine slept while events were recorded.
    private var offsets: [Offset] = []
    private let pseudonyms = AddressPseudonyms()
    private let version: String
    private let wallClock: @ControlPlane () -> WallClock

    /// - Parameters:
    ///   - version: the program's version, for files.
    ///   - recording: an empty recording; a test may give it other limits.
    package init(
        version: String, recording: RoutingRecording = RoutingRecording(),
        wallClock: @escaping @ControlPlane () -> WallClock = { WallClock.now }
    ) {
        self.version = version
        self.recording = recording
        self.wallClock = wallClock
    }

    // MARK: Recording

    /// Called before each event.
    ///
    /// - Parameter now: whole milliseconds of `CLOCK_MONOTONIC`.
    package func willHandle(at now: Instant, _ policy: RoutingPolicy) {
        noteOffset(at: now)
        recording.willHandle(at: now, policy)
    }

    /// Called after each event.
    package func didHandle(_ event: RoutingEvent, at now: Instant, _ policy: RoutingPolicy) {
        recording.didHandle(event, at: now, policy)
    }

    private func noteOffset(at now: Instant) {
        let milliseconds = wallClock().milliseconds - now.nanoseconds / 1_000_000
        // Clock discipline alone (NTP) shifts the clock less between two events.
        if let last = offsets.last, (last.milliseconds - milliseconds).magnitude < 100 { return }
        if offsets.count == Self.offsetLimit { offsets.removeFirst() }
        offsets.append(Offset(start: now, milliseconds: milliseconds))
    }

    // MARK: Looking back

    /// The policy at a time of day, and that time on the monotonic clock.
    ///
    /// - Parameter milliseconds: since 1970-01-01 00:00 UTC.
    /// - Throws: `RangeError` with the recorded period, for a time before the oldest event or in the future.
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
                description:
                    "nothing is recorded for \(asked): the recording covers \(timeOfDay(start).iso8601) to \(now.iso8601)"
            )
        }
        return (policy, instant)
    }

    /// The events and decisions as a scenario file for `btcall-lab replay`; nil before the first event.
    ///
    /// - Parameters:
    ///   - title: the incident in words for people.
    ///   - segmentCount: number of the newest segments to include; nil: all.
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

    /// The last instant with that time of day; for a time that the clock skipped, the instant before the leap.
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
