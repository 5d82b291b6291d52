package import BluetoothTypes
import JSONText

/// Latest routing events and the decision after each, in bounded memory, from which the policy can be restored at any of
/// their times.
///
/// Events are stored in segments, each with the policy before it; the oldest segment is dropped as a whole. An event takes
/// 48 bytes, one that changes a decision as many more (and their texts), so that a full recording of 16 segments of 512
/// takes half a megabyte. A call with a headset makes ten events; one in which everything happens, a hundred.
package struct RoutingRecording: Sendable {
    /// State after an event.
    package struct Decision: Hashable, Sendable {
        package let route: Route?
        package let pending: Route?
        package let reason: RouteChangeReason?
    }

    package struct Entry: Sendable {
        let time: Instant
        let event: RoutingEvent
    }

    package struct Change: Sendable {
        /// Index of the event after which it holds.
        let index: Int
        let decision: Decision
    }

    private struct Segment {
        let start: Instant
        /// Policy before the first event.
        let policy: RoutingPolicy
        var entries: [Entry] = []
        /// Changes of the decision, ordered by index.
        var changes: [Change] = []

        /// Decision after the last event.
        var decision: Decision { changes.last?.decision ?? Decision(policy) }
    }

    private var segments: [Segment] = []
    private let segmentLimit: Int
    private let eventLimit: Int

    /// - Parameters:
    ///   - segmentLimit: maximum number of segments, one or more.
    ///   - eventLimit: maximum number of events in a segment, one or more.
    package init(segmentLimit: Int = 16, eventLimit: Int = 512) {
        self.segmentLimit = max(segmentLimit, 1)
        self.eventLimit = max(eventLimit, 1)
    }

    /// Start of the recording; nil before the first event.
    package var start: Instant? { segments.first?.start }

    /// Number of stored events.
    package var count: Int { segments.reduce(0) { $0 + $1.entries.count } }

    /// Stores the policy where a segment begins; call before each event.
    ///
    /// - Parameter now: whole milliseconds, never before an earlier one.
    package mutating func willHandle(at now: Instant, _ policy: RoutingPolicy) {
        if let last = segments.last, last.entries.count < eventLimit { return }
        if segments.count == segmentLimit { segments.removeFirst() }
        var segment = Segment(start: now, policy: policy)
        // Growth by doubling would take up to twice as much.
        segment.entries.reserveCapacity(eventLimit)
        segments.append(segment)
    }

    /// Stores an event and its decision; call after each event.
    package mutating func didHandle(_ event: RoutingEvent, at now: Instant, _ policy: RoutingPolicy) {
        guard let last = segments.indices.last else { return }
        let decision = Decision(policy)
        if decision != segments[last].decision {
            segments[last].changes.append(Change(index: segments[last].entries.count, decision: decision))
        }
        segments[last].entries.append(Entry(time: now, event: event))
    }

    /// Returns the policy after all events up to and including an instant; nil before the recording begins.
    package func policy(at instant: Instant) -> RoutingPolicy? {
        guard let segment = segments.last(where: { $0.start <= instant }) else { return nil }
        var policy = segment.policy
        for entry in segment.entries {
            guard entry.time <= instant else { break }
            _ = policy.handle(entry.event, at: entry.time)
        }
        return policy
    }
}

extension RoutingRecording.Decision {
    init(_ policy: RoutingPolicy) {
        self.init(route: policy.current, pending: policy.pending, reason: policy.reason)
    }
}

// MARK: Scenario files

extension RoutingRecording {
    /// Content of a file around its events.
    package struct Heading: Sendable {
        package let id: String
        package let title: String
        /// Version of the recording program.
        package let version: String

        package init(id: String, title: String, version: String) {
            self.id = id
            self.title = title
            self.version = version
        }
    }

    /// Returns a scenario file (docs/inside/Routing.md §15) that replays to the same decisions.
    ///
    /// It begins with the state before its first event (`given.state`). Completions and expired timers are among the events,
    /// so that nothing is modelled. After each event that changed the route, the pending device or the reason, the file
    /// expects that change.
    ///
    /// - Parameters:
    ///   - segmentCount: number of the newest segments; nil for all.
    ///   - timeOfDay: ISO 8601 for the scenario's zero.
    /// - Returns: JSON text, one line per event; nil before the first event.
    package func scenarioFile(
        _ heading: Heading, last segmentCount: Int? = nil, timeOfDay: (Instant) -> String
    ) -> String? {
        let kept = segments.suffix(segmentCount ?? segments.count)
        guard let first = kept.first else { return nil }
        var json = "{\"format\": \"btcall-scenario/1\", \"scenarios\": [\n{"
        func member(_ name: String, _ value: JSON, _ end: String = ", ") {
            JSON.write(name, to: &json)
            json += ": "
            value.write(to: &json, .spaced)
            json += end
        }
        member("id", .string(heading.id))
        member("title", .string(heading.title))
        member("version", .string(heading.version))
        member("startedAt", .string(timeOfDay(first.start)), ",\n")
        member("recorded", true)
        member("exactTiming", true)
        // A real silence is replayed, not judged.
        member("mayBeSilent", true, ",\n")
        json += "\"given\": {"
        member("config", .object(Self.members(of: first.policy.configuration)), ",\n")
        member("state", first.policy.recordedState(from: first.start), "},\n\"steps\": [\n")
        Self.write(expected: Decision(first.policy), at: 0, to: &json)
        for segment in kept {
            var changes = segment.changes[...]
            for (index, entry) in segment.entries.enumerated() {
                json += ",\n"
                let time = first.start.duration(to: entry.time).milliseconds
                Self.write(entry.event, at: time, to: &json)
                guard let change = changes.first, change.index == index else { continue }
                changes.removeFirst()
                json += ",\n"
                Self.write(expected: change.decision, at: time, to: &json)
            }
        }
        return json + "\n]}\n]}\n"
    }

    private static func write(_ event: RoutingEvent, at time: Int64, to json: inout String) {
        let record = event.record
        var members: [JSON.Member] = [.init("t", .integer(time)), .init("do", .string(record.word))]
        if case .configure(let configuration) = event {
            members += Self.members(of: configuration)
        } else {
            members += record.arguments.map { .init($0.name, $0.value.recorded) }
        }
        JSON.object(members).write(to: &json, .spaced)
    }

    private static func write(expected decision: Decision, at time: Int64, to json: inout String) {
        func device(_ route: Route?) -> JSON { .string((route?.device ?? .none).description) }
        let expected: JSON = [
            "route": device(decision.route), "pending": device(decision.pending),
            "reason": JSON(decision.reason?.rawValue),
        ]
        (["t": .integer(time), "expect": expected] as JSON).write(to: &json, .spaced)
    }

    private static func members(of configuration: RoutingConfiguration) -> [JSON.Member] {
        RoutingKey.allCases.map { .init($0.rawValue, configuration.recordedValue(of: $0)) }
    }
}

extension RoutingConfiguration {
    /// The value of a key in the notation of a scenario.
    func recordedValue(of key: RoutingKey) -> JSON {
        let text = value(of: key)
        switch key.type {
        case .boolean: return .bool(text == "true")
        case .milliseconds, .count: return Int64(text).map { .integer($0) } ?? .string(text)
        case .device, .words: return .string(text)
        case .deviceList: return JSON(exclude.map(\.description))
        case .addressList: return JSON(headsetOrder.map(\.description))
        }
    }
}

extension EventRecord.Value {
    var recorded: JSON {
        switch self {
        case .text(let text): .string(text)
        case .flag(let flag): .bool(flag)
        case .list(let list): JSON(list)
        }
    }
}
