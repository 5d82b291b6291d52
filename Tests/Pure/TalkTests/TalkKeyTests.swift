import BluetoothTypes
import Talk
import TestSupport
import Testing

@Suite struct TalkKeyTests {
    private static let limit = Duration.seconds(60)

    private static func at(_ milliseconds: Int64) -> Instant { Instant(milliseconds: milliseconds) }

    private static func key() -> TalkKey {
        var key = TalkKey(limit: limit)
        _ = key.appeared()
        return key
    }

    @Test func `a press and a release give an event each, and a deadline between them`() {
        var key = Self.key()
        #expect(key.signal(.pressed, at: Self.at(0)) == [.event(.pressed), .setDeadline(Self.at(60_000))])
        #expect(key.isPressed)
        #expect(key.signal(.released, at: Self.at(5)) == [.event(.released), .setDeadline(nil)])
        #expect(key.state == .released)
    }

    /// State, signal, event.
    static let table: [(state: String, signal: TalkSignal, event: TalkKey.Event?)] = [
        ("gone", .pressed, nil), ("gone", .released, nil), ("gone", .tapped, nil),
        ("released", .pressed, .pressed), ("released", .released, nil), ("released", .tapped, .tapped),
        ("pressed", .pressed, nil), ("pressed", .released, .released), ("pressed", .tapped, .released),
        ("stuck", .pressed, nil), ("stuck", .released, .released), ("stuck", .tapped, .released),
        ("resting", .pressed, nil), ("resting", .released, nil), ("resting", .tapped, nil),
    ]

    @Test(arguments: table)
    func `each signal in each state`(_ row: (state: String, signal: TalkSignal, event: TalkKey.Event?)) {
        var key = row.state == "gone" ? TalkKey(limit: Self.limit) : Self.key()
        if row.state == "pressed" || row.state == "stuck" { _ = key.signal(.pressed, at: Self.at(0)) }
        if row.state == "stuck" { _ = key.deadlineReached(at: Self.at(60_000)) }
        if row.state == "resting" { for _ in 0...TalkKey.burst { _ = key.signal(.tapped, at: Self.at(0)) } }
        let events = key.signal(row.signal, at: Self.at(60_001)).compactMap { action -> TalkKey.Event? in
            if case .event(let event) = action { event } else { nil }
        }
        #expect(events == [row.event].compactMap { $0 })
    }

    @Test func `a key that is held too long is stuck once`() {
        var key = Self.key()
        _ = key.signal(.pressed, at: Self.at(0))
        #expect(key.deadlineReached(at: Self.at(59_999)) == [])
        #expect(key.deadlineReached(at: Self.at(60_000)) == [.event(.stuck)])
        #expect(key.deadlineReached(at: Self.at(120_000)) == [])
        #expect(!key.isPressed)
        #expect(key.signal(.released, at: Self.at(120_001)) == [.event(.released)])
        #expect(key.signal(.pressed, at: Self.at(120_002)) == [.event(.pressed), .setDeadline(Self.at(180_002))])
    }

    @Test func `a device that vanishes is gone once, pressed or not`() {
        var key = Self.key()
        #expect(key.vanished() == [.event(.gone)])
        #expect(key.vanished() == [])
        #expect(key.appeared() == [])
        _ = key.signal(.pressed, at: Self.at(0))
        #expect(key.appeared() == [])
        #expect(key.vanished() == [.event(.gone), .setDeadline(nil)])
    }

    @Test func `repeated presses of a held key do not count as a flood`() {
        var key = Self.key()
        var actions = key.signal(.pressed, at: Self.at(0))
        for number in 1...500 { actions += key.signal(.pressed, at: Self.at(Int64(number) * 100)) }
        #expect(actions == [.event(.pressed), .setDeadline(Self.at(60_000))])
    }

    @Test func `a flood is noted once, releases the key, and ends with silence`() {
        var key = Self.key()
        var notes = 0
        var events: [TalkKey.Event] = []
        for number in 0..<1000 {
            for action in key.signal(number.isMultiple(of: 2) ? .pressed : .released, at: Self.at(Int64(number))) {
                switch action {
                case .event(let event): events.append(event)
                case .noteFlood: notes += 1
                case .setDeadline: break
                }
            }
        }
        #expect(notes == 1)
        #expect(events.count <= TalkKey.burst + TalkKey.perSecond && events.last == .released)
        #expect(key.deadlineReached(at: Self.at(10_000)) == [.setDeadline(Self.at(15_000))])
        #expect(key.deadlineReached(at: Self.at(15_000)) == [])
        #expect(key.state == .released)
    }

    @Test(arguments: randomCourses(200))
    func `each press has one end, whatever comes`(_ seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        var key = TalkKey(limit: .seconds(3))
        var now = Instant(milliseconds: 0)
        var deadline: Instant?
        var isPressed = false
        for _ in 0..<500 {
            now = now.advanced(by: .milliseconds(Int64(random.below(random.below(8) == 0 ? 4000 : 100))))
            let actions: [TalkKey.Action]
            if let time = deadline, time <= now {
                deadline = nil
                actions = key.deadlineReached(at: now)
            } else {
                switch random.below(10) {
                case 0: actions = key.appeared()
                case 1: actions = random.below(4) == 0 ? key.vanished() : []
                default: actions = key.signal(TalkSignal.allCases[random.below(3)], at: now)
                }
            }
            for action in actions {
                switch action {
                case .event(.pressed):
                    #expect(!isPressed)
                    isPressed = true
                case .event(.released), .event(.stuck), .event(.gone): isPressed = false
                case .event(.tapped): #expect(!isPressed)
                case .noteFlood: #expect(!isPressed)
                case .setDeadline(let time):
                    #expect(time.map { $0 > now } ?? true)
                    deadline = time
                }
            }
            #expect(isPressed == key.isPressed)
            #expect(!isPressed || deadline != nil)
        }
    }
}
