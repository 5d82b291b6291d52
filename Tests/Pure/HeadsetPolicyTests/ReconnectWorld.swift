import BluetoothTypes
import HeadsetPolicy
import Testing

/// A manager in a world whose time a test advances: deadlines are kept, pages are answered by the test.
struct ReconnectWorld {
    var manager: ReconnectManager
    var now = Instant.zero
    var facts: [BluetoothAddress: ReconnectManager.Fact] = [:]
    var isActive = true
    var isBusy = false
    var deadline: Instant?
    /// Actions without deadlines.
    var done: [ReconnectManager.Action] = []
    var memories: [BluetoothAddress: ReconnectManager.Memory] = [:]

    init(_ settings: ReconnectManager.Settings, memories: [BluetoothAddress: ReconnectManager.Memory] = [:]) {
        manager = ReconnectManager(settings: settings, memories: memories)
    }

    private mutating func handle(_ actions: [ReconnectManager.Action]) {
        deadline = nil
        for action in actions {
            if case .setDeadline(let time) = action {
                deadline = time
            } else if case .keep = action {
                memories = manager.memories
            } else {
                done.append(action)
            }
        }
    }

    mutating func update() {
        handle(manager.update(Array(facts.values), isActive: isActive, isBusy: isBusy, at: now))
    }

    mutating func set(
        _ address: BluetoothAddress, _ presence: ReconnectManager.Presence, hasVoice: Bool = true
    ) {
        facts[address] = .init(address, presence, hasVoice: hasVoice)
        update()
    }

    mutating func remove(_ address: BluetoothAddress) {
        facts[address] = nil
        update()
    }

    mutating func setBusy(_ isBusy: Bool) {
        self.isBusy = isBusy
        update()
    }

    mutating func say(_ reason: DisconnectionReason, _ address: BluetoothAddress) {
        handle(manager.disconnected(address, reason, at: now))
    }

    mutating func dismiss(_ address: BluetoothAddress) { handle(manager.dismissed(address, at: now)) }

    mutating func free(_ address: BluetoothAddress) { manager.freed(address, at: now) }

    mutating func answer(_ outcome: ReconnectManager.Outcome) {
        handle(manager.answered(pages.count, outcome, at: now))
    }

    mutating func follow(_ settings: ReconnectManager.Settings) { handle(manager.follow(settings, at: now)) }

    /// Advances time, deadline by deadline.
    mutating func pass(until end: Instant) {
        var steps = 0
        while let next = deadline, next <= end, steps < 10_000 {
            now = max(now, next)
            handle(manager.deadlineReached(at: now))
            steps += 1
        }
        #expect(steps < 10_000, "deadlines that do not move on")
        now = end
    }

    /// Paged headsets, in order.
    var pages: [BluetoothAddress] {
        done.compactMap { if case .page(let address, _, _) = $0 { address } else { nil } }
    }
    var cancels: Int { done.filter { if case .cancel = $0 { true } else { false } }.count }

    func contains(_ action: ReconnectManager.Action) -> Bool { done.contains(action) }
}
