package import ControlLoop
package import Diagnostics
package import Logging
package import Talk

/// The talk keys of the box: one `TalkKey` machine for each, with its timer.
@ControlPlane
package final class TalkKeys {
    /// What a key does.
    package let events = Signal<(TalkKeyID, TalkKey.Event)>()
    /// A key has come or gone, or was pressed or released.
    package let changes = Signal<TalkKeyID>()
    /// Longest time for which a key may be held; counts from the next press on.
    package var limit: Duration

    private final class Entry {
        var machine: TalkKey
        let limit: Duration
        var timer: Timer?

        init(limit: Duration) {
            machine = TalkKey(limit: limit)
            self.limit = limit
        }
    }

    private var entries: [TalkKeyID: Entry] = [:]
    private let problems: ProblemList
    private let logger: Logger
    /// Keys that are held too long, in the order in which that was noticed.
    private var stuck: [TalkKeyID] = []
    /// Keys that are ignored because they sent too much, in the order in which that began.
    private var resting: [TalkKeyID] = []
    private static let stuckProblem = "talk.stuck"
    private static let floodProblem = "talk.flood"

    package init(limit: Duration, problems: ProblemList, logger: Logger) {
        self.limit = limit
        self.problems = problems
        self.logger = logger
    }

    package func stop() {
        for entry in entries.values { entry.timer?.cancel() }
        entries = [:]
    }

    /// The present keys and whether they are pressed, in their order.
    package var list: [(key: TalkKeyID, isPressed: Bool)] {
        entries.keys.sorted().map { ($0, entries[$0]?.machine.isPressed == true) }
    }

    package func has(_ key: TalkKeyID) -> Bool { entries[key] != nil }

    /// Whether the key counts as pressed; nil for an unknown one.
    package func isPressed(_ key: TalkKeyID) -> Bool? { entries[key]?.machine.isPressed }

    /// Whether the key is ignored for some seconds, because it sent too much.
    package func isResting(_ key: TalkKeyID) -> Bool {
        if case .resting = entries[key]?.machine.state { true } else { false }
    }

    /// Adds a key, released; does nothing for a known one.
    package func add(_ key: TalkKeyID) {
        guard entries[key] == nil else { return }
        let entry = Entry(limit: limit)
        entries[key] = entry
        perform(entry.machine.appeared(), of: key, entry)
        logger.info("talk key: \(key)")
        changes.send(key)
    }

    /// Removes a key whose device has gone; does nothing for an unknown one.
    package func remove(_ key: TalkKeyID) {
        guard let entry = entries.removeValue(forKey: key) else { return }
        let actions = entry.machine.vanished()
        entry.timer?.cancel()
        entry.timer = nil
        perform(actions, of: key, entry)
        noteRest(of: key)
        logger.info("talk key: \(key) has gone")
        changes.send(key)
    }

    /// Passes on what a device says; an unknown key is ignored.
    package func signal(_ signal: TalkSignal, from key: TalkKeyID) {
        guard var entry = entries[key] else { return }
        if entry.limit != limit, case .released = entry.machine.state {
            entry.timer?.cancel()
            entry = Entry(limit: limit)
            entries[key] = entry
            perform(entry.machine.appeared(), of: key, entry)
        }
        step(key, entry) { $0.machine.signal(signal, at: ControlLoop.now) }
    }

    private func step(_ key: TalkKeyID, _ entry: Entry, _ body: (Entry) -> [TalkKey.Action]) {
        let wasPressed = entry.machine.isPressed
        perform(body(entry), of: key, entry)
        noteRest(of: key)
        if entry.machine.isPressed != wasPressed { changes.send(key) }
    }

    private func note(_ event: TalkKey.Event, of key: TalkKeyID) {
        stuck.removeAll { $0 == key }
        if event == .stuck { stuck.append(key) }
        guard let first = stuck.first else { return problems.end(Self.stuckProblem) }
        problems.begin(
            Self.stuckProblem, what: "the talk key \(first) is held for more than \(limit): it counts as released",
            remedy: "release it, and see whether it is jammed; [talk] timeoutSeconds sets the time")
    }

    /// Raises the problem of keys that flood, and clears it when each of them counts again or has gone.
    private func noteRest(of key: TalkKeyID) {
        let isResting = isResting(key)
        guard isResting != resting.contains(key) else { return }
        if isResting { resting.append(key) } else { resting.removeAll { $0 == key } }
        guard let first = resting.first else { return problems.end(Self.floodProblem) }
        problems.begin(
            Self.floodProblem,
            what: "the talk key \(first) sends too many presses: it is ignored until it is silent for \(TalkKey.rest)",
            remedy: "see whether the device is broken, or a program presses the key: people press ten times a second")
    }

    private func perform(_ actions: [TalkKey.Action], of key: TalkKeyID, _ entry: Entry) {
        for action in actions {
            switch action {
            case .event(let event):
                logger.debug("\(key): \(event.rawValue)")
                note(event, of: key)
                events.send((key, event))
            case .noteFlood: break  // noteRest(of:) has the problem, and ends it.
            case .setDeadline(let deadline):
                entry.timer?.cancel()
                entry.timer = deadline.map { deadline in
                    ControlLoop.shared.schedule(at: deadline) { [weak self, weak entry] in
                        guard let self, let entry else { return }
                        entry.timer = nil
                        step(key, entry) { $0.machine.deadlineReached(at: ControlLoop.now) }
                    }
                }
            }
        }
    }
}
