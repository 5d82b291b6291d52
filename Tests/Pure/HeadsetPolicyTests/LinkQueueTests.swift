import BluetoothTypes
import HeadsetPolicy
import Testing

@Suite struct LinkQueueTests {
    private enum Input {
        case enter(LinkQueue.Ticket, limit: Int64, pauses: Bool = true)
        case again(LinkQueue.Ticket)
        case leave(LinkQueue.Ticket)
        case closed(LinkQueue.Ticket)
        case deadline
    }

    private static let first = LinkQueue.Ticket(BluetoothAddress(value: 1), number: 1)
    private static let second = LinkQueue.Ticket(BluetoothAddress(value: 2), number: 2)
    private static let third = LinkQueue.Ticket(BluetoothAddress(value: 3), number: 3)
    /// The first headset's next connection.
    private static let successor = LinkQueue.Ticket(BluetoothAddress(value: 1), number: 4)

    private func after(_ milliseconds: Int64) -> Instant { Instant(milliseconds: milliseconds) }

    private func play(_ steps: [(at: Int64, input: Input, actions: [LinkQueue.Action])]) -> LinkQueue {
        var queue = LinkQueue(pause: .milliseconds(300))
        for (index, step) in steps.enumerated() {
            var actions: [LinkQueue.Action] = []
            let now = after(step.at)
            switch step.input {
            case .enter(let ticket, let limit, let pauses):
                actions = queue.enter(ticket, limit: .milliseconds(limit), pauses: pauses, at: now)
            case .again(let ticket): actions = queue.again(ticket, at: now)
            case .leave(let ticket): actions = queue.leave(ticket, at: now)
            case .closed(let ticket): queue.closed(ticket.address, at: now)
            case .deadline: actions = queue.deadlineReached(at: now)
            }
            #expect(actions == step.actions, "step \(index + 1)")
        }
        return queue
    }

    @Test func `tickets are granted in the order of arrival`() {
        let queue = play([
            (0, .enter(Self.first, limit: 5000), [.grant(Self.first)]),
            (10, .enter(Self.second, limit: 5000), [.setDeadline(after(5010))]),
            (20, .enter(Self.third, limit: 5000), []),
            (30, .leave(Self.first), [.grant(Self.second), .setDeadline(after(5020))]),
            (40, .leave(Self.second), [.grant(Self.third), .setDeadline(nil)]),
            (50, .leave(Self.third), [.idle]),
        ])
        #expect(queue.state == .idle)
    }

    @Test func `a headset whose link has just closed waits for its pause, and keeps its turn`() {
        _ = play([
            (0, .closed(Self.first), []),
            (100, .enter(Self.first, limit: 5000), [.setDeadline(after(300))]),
            (200, .enter(Self.second, limit: 5000), []),
            (250, .deadline, []),
            (300, .deadline, [.grant(Self.first), .setDeadline(after(5200))]),
            (310, .leave(Self.first), [.grant(Self.second), .setDeadline(nil)]),
        ])
    }

    @Test func `a link that the headset opens waits for no pause`() {
        _ = play([
            (0, .closed(Self.first), []),
            (100, .enter(Self.first, limit: 5000, pauses: false), [.grant(Self.first)]),
            (110, .closed(Self.second), []),
            (120, .enter(Self.second, limit: 5000, pauses: false), [.setDeadline(after(5120))]),
            (200, .leave(Self.first), [.grant(Self.second), .setDeadline(nil)]),
        ])
    }

    @Test func `a second try waits for the pause and precedes the others`() {
        _ = play([
            (0, .enter(Self.first, limit: 5000), [.grant(Self.first)]),
            (10, .enter(Self.second, limit: 5000), [.setDeadline(after(5010))]),
            (1000, .closed(Self.first), []),
            (1000, .again(Self.first), [.setDeadline(after(1300))]),
            (1300, .deadline, [.grant(Self.first), .setDeadline(after(5010))]),
        ])
    }

    @Test func `a close during the pause does not extend it`() {
        _ = play([
            (0, .closed(Self.first), []),
            (0, .enter(Self.first, limit: 5000), [.setDeadline(after(300))]),
            (20, .closed(Self.first), []),
            (300, .deadline, [.grant(Self.first)]),
        ])
    }

    @Test func `a ticket whose turn does not come in time is refused`() {
        _ = play([
            (0, .enter(Self.first, limit: 5000), [.grant(Self.first)]),
            (10, .enter(Self.second, limit: 500), [.setDeadline(after(510))]),
            (20, .enter(Self.third, limit: 0), [.refuse(Self.third)]),
            (20, .enter(Self.third, limit: 600), []),
            (510, .deadline, [.refuse(Self.second), .setDeadline(after(620))]),
            // The timer is late.
            (700, .leave(Self.first), [.refuse(Self.third), .idle, .setDeadline(nil)]),
        ])
    }

    @Test func `a ticket withdrawn before its turn is not granted`() {
        _ = play([
            (0, .enter(Self.first, limit: 5000), [.grant(Self.first)]),
            (10, .enter(Self.second, limit: 5000), [.setDeadline(after(5010))]),
            (20, .enter(Self.third, limit: 5000), []),
            (30, .leave(Self.second), [.setDeadline(after(5020))]),
            (40, .leave(Self.first), [.grant(Self.third), .setDeadline(nil)]),
            (50, .leave(Self.first), []),
        ])
    }

    @Test func `a ticket withdrawn during the pause makes way`() {
        _ = play([
            (0, .closed(Self.first), []),
            (0, .enter(Self.first, limit: 5000), [.setDeadline(after(300))]),
            (10, .enter(Self.second, limit: 5000), []),
            (20, .leave(Self.first), [.grant(Self.second), .setDeadline(nil)]),
        ])
    }

    @Test func `a headset's next connection waits until the previous set-up has ended`() {
        _ = play([
            (0, .enter(Self.first, limit: 5000), [.grant(Self.first)]),
            (10, .enter(Self.successor, limit: 5000), [.setDeadline(after(5010))]),
            (20, .closed(Self.first), []),
            (20, .leave(Self.first), [.setDeadline(after(320))]),
            (320, .deadline, [.grant(Self.successor)]),
        ])
    }

    @Test func `asking twice and repeating out of turn are faults`() {
        _ = play([
            (0, .again(Self.first), [.fault("\(Self.first.address) begins again out of turn")]),
            (0, .enter(Self.first, limit: 5000), [.grant(Self.first)]),
            (0, .enter(Self.first, limit: 5000), [.fault("\(Self.first.address) asks twice for its turn")]),
        ])
    }

    @Test func `closed links are forgotten after their pause`() {
        var queue = LinkQueue(pause: .milliseconds(300))
        for number in 0..<1000 { queue.closed(BluetoothAddress(value: UInt64(number)), at: after(0)) }
        #expect(queue.pauseCount == 1000)
        queue.closed(BluetoothAddress(value: 1000), at: after(300))
        #expect(queue.pauseCount == 1)
    }
}
