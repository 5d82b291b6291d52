import BluetoothTypes
import Talk
import TalkWords
import TestSupport
import Testing

/// Seeded random events of keys, a provider and a call.
@Suite struct TalkFloorTests {
    @Test(arguments: randomCourses(400))
    func `random events keep the rules of the floor`(_ seed: Int) {
        var world = FloorWorld(seed: UInt64(seed))
        for _ in 0..<400 where world.broken.isEmpty { world.step() }
        world.settle()
        #expect(world.broken == [])
    }

    @Test func `random courses reach every state, tone and end`() {
        var seen: Set<String> = []
        for seed in 0..<300 {
            var world = FloorWorld(seed: UInt64(seed))
            for _ in 0..<400 { world.step() }
            seen.formUnion(world.seen)
        }
        let states = TalkState.allCases.map(\.rawValue)
        let tones = TalkTone.allCases.map { "play \($0.rawValue)" }
        #expect(Set(states + tones + ["ask", "yield", "link true", "link false"]).subtracting(seen) == [])
    }

    @Test(arguments: randomCourses(50))
    func `in mode off nothing is returned, whatever happens`(_ seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        var settings = TalkSettings()
        settings.asksPermission = random.below(2) == 0
        settings.linkLinger = random.below(2) == 0 ? .seconds(1) : nil
        var floor = TalkFloor(settings)
        var now = Instant(milliseconds: 0)
        for _ in 0..<500 {
            now = now.advanced(by: .milliseconds(Int64(random.below(1000))))
            let actions: [TalkFloor.Action]
            switch random.below(8) {
            case 0: actions = floor.callBecameActive(at: now)
            case 1: actions = floor.callLeft(at: now)
            case 2: actions = floor.permissionAnswered(UInt32(random.below(4)), isGranted: true, at: now)
            case 3: actions = floor.revoked(at: now)
            case 4: actions = floor.deadlineReached(at: now)
            case 5:
                settings.tail = .milliseconds(Int64(random.below(500)))
                settings.asksPermission.toggle()
                actions = floor.configure(settings, at: now)
            default:
                let event = TalkKey.Event.allCases[random.below(TalkKey.Event.allCases.count)]
                actions = floor.key(TalkKeyID(.board, "\(random.below(3))"), event, at: now)
            }
            #expect(actions == [])
            #expect(floor.gate == .free && floor.talking == .off)
        }
    }

    @Test func `the mode of a call counts before its provider's, and that before the general one`() {
        let general = TalkSettings(mode: .latch)
        #expect(general.overridden(provider: nil, call: nil).mode == .latch)
        #expect(general.overridden(provider: .push, call: nil).mode == .push)
        #expect(general.overridden(provider: .push, call: .off).mode == .off)
        #expect(general.overridden(provider: nil, call: .toggle).mode == .toggle)
    }

    @Test func `another order of the keys`() {
        var settings = TalkSettings(mode: .push)
        settings.order = [.button, .headset]
        var floor = TalkFloor(settings)
        let now = Instant(milliseconds: 0)
        _ = floor.callBecameActive(at: now)
        _ = floor.key(TalkKeyID(.board, "pedal"), .pressed, at: now)
        _ = floor.key(TalkKeyID(.headset, "mic"), .pressed, at: now)
        #expect(floor.talking == Talking(.talking, TalkKeyID(.headset, "mic")))
        _ = floor.key(TalkKeyID(.button, "button"), .pressed, at: now)
        #expect(floor.talking == Talking(.talking, TalkKeyID(.button, "button")))
        // Kinds that are not named come last, and do not take the floor from each other.
        _ = floor.key(TalkKeyID(.button, "button"), .gone, at: now)
        _ = floor.key(TalkKeyID(.headset, "mic"), .gone, at: now)
        _ = floor.key(TalkKeyID(.application, "web"), .pressed, at: now)
        #expect(floor.talking == Talking(.talking, TalkKeyID(.board, "pedal")))
    }

    @Test func `a microphone closes before anything else of its batch, and opens before it`() {
        for seed in 0..<100 {
            var world = FloorWorld(seed: UInt64(seed))
            for _ in 0..<200 {
                for actions in world.step() {
                    let index = actions.firstIndex { if case .microphone = $0 { true } else { false } }
                    #expect(index == nil || index == 0)
                }
            }
        }
    }
}

/// Rules checked after each event:
///
/// - the microphone is open only with a holder, which is pressed or latched; in mode push pressed, in its tail, or a button
///   without releases;
/// - open no longer than the limit; closed at once when its holder is gone;
/// - a request to the provider ends once: refused, revoked or yielded; without a grant nothing is open;
/// - what the actions say is what the floor says; deadlines are in the future;
/// - nothing at rest waits for anything.
struct FloorWorld {
    private var random: SeededGenerator
    private var floor: TalkFloor
    private var now = Instant(milliseconds: 1000)
    private var deadline: Instant?
    private let keys: [TalkKeyID]
    private var down: Set<TalkKeyID> = []
    private var gate = TalkFloor.Gate.free
    private var talking = Talking.off
    private var openSince: Instant?
    /// The request that has neither been refused nor yielded.
    private var request: UInt32?
    private var lastRequest: UInt32 = 0
    private var isGranted = false
    private(set) var broken: [String] = []
    private(set) var seen: Set<String> = []

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        keys = TalkKeyID.Kind.allCases.flatMap { [TalkKeyID($0, "a"), TalkKeyID($0, "b")] }
        floor = TalkFloor(TalkSettings())
        floor = TalkFloor(someSettings())
    }

    private mutating func someSettings() -> TalkSettings {
        var settings = TalkSettings(mode: [.push, .push, .toggle, .latch, .off][random.below(5)])
        settings.tail = .milliseconds(Int64(random.below(3) * 150))
        settings.limit = .milliseconds(2000)
        settings.asksPermission = random.below(2) == 0
        settings.linkLinger = [nil, .zero, .milliseconds(700)][random.below(3)]
        settings.tones = Set(TalkTone.allCases)
        return settings
    }

    private mutating func fail(_ what: String) { broken.append("\(what): \(floor.talking), \(down)") }

    /// - Returns: the batches of actions.
    @discardableResult
    mutating func step() -> [[TalkFloor.Action]] {
        now = now.advanced(by: .milliseconds(Int64(random.below(random.below(10) == 0 ? 1500 : 120))))
        var batches: [[TalkFloor.Action]] = []
        // Late, as timers are.
        if let time = deadline, time <= now {
            deadline = nil
            batches.append(perform(floor.deadlineReached(at: now)))
        }
        batches.append(perform(happen()))
        check()
        return batches
    }

    private mutating func happen() -> [TalkFloor.Action] {
        switch random.below(24) {
        case 0: return floor.callBecameActive(at: now)
        case 1: return random.below(3) == 0 ? floor.callLeft(at: now) : []
        case 2: return random.below(4) == 0 ? floor.configure(someSettings(), at: now) : []
        case 3, 4, 5: return answer(isGranted: random.below(3) > 0)
        case 6: return revoke()
        case 7:
            let key = keys[random.below(keys.count)]
            down.remove(key)
            let hadFloor = floor.talking.holder == key && floor.gate == .open
            let actions = floor.key(key, .gone, at: now)
            if hadFloor, floor.talking.holder == key { fail("a key that is gone still talks") }
            return actions
        case 8:
            guard let key = down.sorted().first else { return [] }
            down.remove(key)
            return floor.key(key, .stuck, at: now)
        case 9: return floor.key(keys[random.below(keys.count)], .tapped, at: now)
        default:
            let key = keys[random.below(3) == 0 ? random.below(keys.count) : random.below(3)]
            if down.remove(key) != nil { return floor.key(key, .released, at: now) }
            down.insert(key)
            return floor.key(key, .pressed, at: now)
        }
    }

    private mutating func answer(isGranted granted: Bool) -> [TalkFloor.Action] {
        let isCurrent = request == lastRequest && floor.talking.state == .asking
        let actions = floor.permissionAnswered(lastRequest, isGranted: granted, at: now)
        if !isCurrent, !actions.isEmpty { fail("an answer to nothing has an effect") }
        if isCurrent {
            isGranted = granted
            if !granted { request = nil }
        }
        return actions
    }

    private mutating func revoke() -> [TalkFloor.Action] {
        let actions = floor.revoked(at: now)
        if request == nil, !actions.isEmpty { fail("a floor that nobody has is revoked") }
        request = nil
        isGranted = false
        return actions
    }

    /// No more events: everything ends without them, at the latest with the limit.
    mutating func settle() {
        for _ in 0..<20 {
            guard let time = deadline else { break }
            now = max(now, time)
            deadline = nil
            _ = perform(floor.deadlineReached(at: now))
            check()
        }
        if deadline != nil { fail("deadlines without end") }
        if gate == .open { fail("open for ever") }
        _ = perform(floor.callLeft(at: now))
        if request != nil { fail("a provider was never told") }
        if gate != .free || talking != .off { fail("not free after the call") }
    }

    private mutating func perform(_ actions: [TalkFloor.Action]) -> [TalkFloor.Action] {
        for action in actions {
            switch action {
            case .microphone(let next):
                if next == gate { fail("told twice that the microphone is \(next)") }
                if next == .open, gate != .open { openSince = now }
                gate = next
            case .ask(let id):
                seen.insert("ask")
                if request != nil { fail("asked twice") }
                (request, lastRequest, isGranted) = (id, id, false)
            case .yield:
                seen.insert("yield")
                if request == nil { fail("yields what it has not asked for") }
                (request, isGranted) = (nil, false)
            case .play(let tone): seen.insert("play \(tone.rawValue)")
            case .link(let isNeeded): seen.insert("link \(isNeeded)")
            case .talking(let next):
                if next == talking { fail("told twice that it is \(next)") }
                talking = next
                seen.insert(next.state.rawValue)
            case .setDeadline(let time):
                if let time, time <= now { fail("a deadline in the past") }
                deadline = time
            }
        }
        return actions
    }

    private mutating func check() {
        if gate != floor.gate || talking != floor.talking { fail("the actions say \(gate), \(talking)") }
        if (gate == .open) != talking.isOpen { fail("open and talking differ") }
        let isOn = floor.isActive && floor.settings.mode != .off
        if (gate == .free) == isOn { fail("free") }
        guard gate == .open else { return }
        if talking.holder == nil { fail("open without a holder") }
        if deadline == nil { fail("open without an end") }
        // A grant outlasts a change of other settings.
        if request != nil, !isGranted { fail("open without a grant") }
        let limit = floor.settings.limit
        if let openSince, openSince.duration(to: now) > limit + .milliseconds(1500) { fail("open too long") }
    }
}
