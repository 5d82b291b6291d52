import BluetoothTypes
import HeadsetPolicy
import TestSupport
import Testing

@Suite struct ReconnectManagerTests {
    private typealias Manager = ReconnectManager
    private static let first = BluetoothAddress(value: 0x0000_5E00_5301)
    private static let second = BluetoothAddress(value: 0x0000_5E00_5302)
    private static let third = BluetoothAddress(value: 0x0000_5E00_5303)

    private func at(_ seconds: Double) -> Instant { Instant(milliseconds: Int64(seconds * 1000)) }

    private func settings(
        isOn: Bool = true, losses: Int = 5, order: [BluetoothAddress] = []
    ) -> ReconnectManager.Settings {
        .init(
            isOn: isOn, first: .seconds(5), longest: .seconds(300), losses: losses, quarantine: .seconds(300),
            order: order)
    }

    /// A manager in a world whose time a test moves: deadlines are kept, pages are answered when the test says so.
    private struct World {
        var manager: ReconnectManager
        var now = Instant.zero
        var facts: [BluetoothAddress: ReconnectManager.Fact] = [:]
        var isActive = true
        var isBusy = false
        var deadline: Instant?
        /// What was done, without deadlines.
        var done: [ReconnectManager.Action] = []
        var memories: [BluetoothAddress: ReconnectManager.Memory] = [:]

        init(_ settings: ReconnectManager.Settings, memories: [BluetoothAddress: ReconnectManager.Memory] = [:]) {
            manager = ReconnectManager(settings: settings, memories: memories)
        }

        private mutating func take(_ actions: [ReconnectManager.Action]) {
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
            take(manager.update(Array(facts.values), isActive: isActive, isBusy: isBusy, at: now))
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
            take(manager.disconnected(address, reason, at: now))
        }

        mutating func dismiss(_ address: BluetoothAddress) { take(manager.dismissed(address, at: now)) }

        mutating func free(_ address: BluetoothAddress) { manager.freed(address, at: now) }

        mutating func answer(_ outcome: ReconnectManager.Outcome) {
            take(manager.answered(pages.count, outcome, at: now))
        }

        mutating func follow(_ settings: ReconnectManager.Settings) { take(manager.follow(settings, at: now)) }

        /// Lets time pass, deadline by deadline.
        mutating func pass(until end: Instant) {
            var steps = 0
            while let next = deadline, next <= end, steps < 10_000 {
                now = max(now, next)
                take(manager.deadlineReached(at: now))
                steps += 1
            }
            #expect(steps < 10_000, "deadlines that do not move on")
            now = end
        }

        /// The headsets that were paged, in order.
        var pages: [BluetoothAddress] {
            done.compactMap { if case .page(let address, _, _) = $0 { address } else { nil } }
        }
        var cancels: Int { done.filter { if case .cancel = $0 { true } else { false } }.count }

        func contains(_ action: ReconnectManager.Action) -> Bool { done.contains(action) }
    }

    /// A headset that was up at 0 and is lost at `time` for this reason.
    private func lost(
        _ reason: DisconnectionReason?, at time: Double = 100, settings: ReconnectManager.Settings? = nil,
        hasVoice: Bool = true
    ) -> World {
        var world = World(settings ?? self.settings())
        world.set(Self.first, .up, hasVoice: hasVoice)
        world.pass(until: at(time))
        if let reason { world.say(reason, Self.first) }
        world.set(Self.first, .away)
        return world
    }

    /// The times at which a headset that never answers is paged.
    private func times(_ world: inout World, until end: Double) -> [Double] {
        var times: [Double] = []
        while let next = world.deadline, next <= at(end) {
            let before = world.pages.count
            world.pass(until: next)
            guard world.pages.count > before else { continue }
            times.append(Double(world.now.nanoseconds) / 1e9)
            world.pass(until: world.now.advanced(by: .seconds(5)))
            world.answer(.failed)
        }
        world.pass(until: at(end))
        return times
    }

    // MARK: Coming back

    @Test func `after the start known headsets are paged, not before the first wait`() {
        var world = World(settings())
        world.set(Self.first, .away)
        #expect(world.manager.standing(of: Self.first) == .waiting)
        world.pass(until: at(4.9))
        #expect(world.pages.isEmpty)
        world.pass(until: at(5))
        #expect(world.done == [.page(Self.first, number: 1, attempt: 1)])
        #expect(world.manager.standing(of: Self.first) == .paging)
        world.set(Self.first, .linked)
        world.set(Self.first, .comingUp)
        world.set(Self.first, .up)
        world.answer(.done)
        #expect(world.contains(.returned(Self.first)))
        #expect(world.manager.standing(of: Self.first) == .none)
        world.pass(until: at(1000))
        #expect(world.pages.count == 1)
    }

    @Test(arguments: [DisconnectionReason.timeout, .authentication, .unknown, nil])
    func `a headset whose link timed out, or ended for no known reason, is paged`(_ reason: DisconnectionReason?) {
        var world = lost(reason)
        world.pass(until: at(104.9))
        #expect(world.pages.isEmpty && world.contains(.wait(Self.first, until: at(105))))
        world.pass(until: at(105))
        #expect(world.pages == [Self.first])
    }

    @Test func `the waits double up to the longest`() {
        var world = lost(.timeout)
        // Each from the answer, 5 s after the page.
        #expect(
            times(&world, until: 1500) == [105, 120, 145, 190, 275, 440, 745, 1050, 1355])
        let attempts = world.done.compactMap { if case .page(_, _, let attempt) = $0 { attempt } else { nil } }
        #expect(attempts == Array(1...9))
    }

    @Test func `success ends the waits, so that the next loss is followed by the first one`() {
        var world = lost(.timeout)
        _ = times(&world, until: 300)
        world.set(Self.first, .up)
        world.pass(until: at(1000))
        world.say(.timeout, Self.first)
        world.set(Self.first, .away)
        world.pass(until: at(1005))
        #expect(world.now == at(1005) && world.pages.count == 6)
    }

    @Test func `an adapter that is back, and a daemon that serves again, begin the waits anew`() {
        for isAdapter in [true, false] {
            var world = lost(.timeout)
            #expect(times(&world, until: 500).count == 6)
            if isAdapter {
                world.remove(Self.first)
                world.pass(until: at(510))
                world.set(Self.first, .away)
            } else {
                world.isActive = false
                world.update()
                world.pass(until: at(510))
                #expect(world.manager.standing(of: Self.first) == .none)
                world.isActive = true
                world.update()
            }
            #expect(times(&world, until: 590) == [515, 530, 555])
        }
    }

    @Test func `a headset that tries by itself begins the waits anew`() {
        var world = lost(.timeout)
        _ = times(&world, until: 500)
        world.set(Self.first, .linked)
        world.set(Self.first, .away)
        #expect(times(&world, until: 540) == [505, 520])
    }

    @Test func `what somebody else is connecting, or could not be tried, is no attempt`() {
        var world = lost(.timeout)
        world.pass(until: at(105))
        world.answer(.inProgress)
        world.pass(until: at(110))
        #expect(world.pages.count == 2)
        world.answer(.notTried)
        world.pass(until: at(115))
        #expect(world.done.last == .page(Self.first, number: 3, attempt: 1))
    }

    @Test func `one whose pairing is void is paged as seldom as can be`() {
        var world = lost(.timeout)
        world.pass(until: at(105))
        world.answer(.notPaired)
        world.pass(until: at(404))
        #expect(world.pages.count == 1)
        world.pass(until: at(405))
        #expect(world.pages.count == 2)
    }

    // MARK: One at a time, in order

    @Test func `the list comes first, then the one that was used last, then the address`() {
        var world = World(
            settings(order: [Self.third]),
            memories: [Self.first: .init(used: 3), Self.second: .init(used: 7), Self.third: .init(used: 1)])
        for address in [Self.first, Self.second, Self.third] { world.set(address, .away) }
        var paged: [BluetoothAddress] = []
        for _ in 0..<3 {
            world.pass(until: world.now.advanced(by: .seconds(8)))
            paged.append(world.pages.last ?? Self.first)
            world.answer(.failed)
        }
        #expect(paged == [Self.third, Self.second, Self.first])
        var fresh = World(settings())
        fresh.set(Self.second, .away)
        fresh.set(Self.first, .away)
        fresh.pass(until: at(5))
        #expect(fresh.pages == [Self.first])
    }

    @Test func `one is paged at a time, with a pause after it in which others are heard`() {
        var world = World(settings())
        world.facts = [Self.first: .init(Self.first, .away), Self.second: .init(Self.second, .away)]
        world.update()
        world.pass(until: at(9))
        #expect(world.pages == [Self.first])
        world.answer(.failed)
        world.pass(until: at(10.9))
        #expect(world.pages.count == 1)
        world.pass(until: at(11))
        #expect(world.pages == [Self.first, Self.second])
        // An answer to an earlier page is none to this one.
        world.done.removeAll { if case .page(Self.second, _, _) = $0 { true } else { false } }
        world.answer(.failed)
        world.pass(until: at(30))
        #expect(world.manager.standing(of: Self.second) == .paging)
    }

    @Test func `who was used last is kept, and written only when it is another`() {
        var world = World(settings())
        world.set(Self.first, .up)
        #expect(world.memories == [Self.first: .init(used: 1)])
        world.set(Self.second, .up)
        #expect(world.memories[Self.second]?.used == 2)
        world.memories = [:]
        world.set(Self.second, .away)
        world.set(Self.second, .up)
        #expect(world.memories.isEmpty)
        world.set(Self.first, .away)
        world.set(Self.first, .up)
        #expect(world.memories[Self.first]?.used == 3)
    }

    // MARK: Calls

    @Test func `nothing is paged while there is a call or a link is set up, and a moment after it`() {
        var world = lost(.timeout)
        world.setBusy(true)
        world.pass(until: at(1000))
        #expect(world.pages.isEmpty && world.deadline == nil)
        #expect(world.manager.standing(of: Self.first) == .waiting)
        world.setBusy(false)
        world.pass(until: at(1001.9))
        #expect(world.pages.isEmpty)
        world.pass(until: at(1002))
        #expect(world.pages == [Self.first])
    }

    @Test func `a page that is under way when a call comes is given up, and does not count`() {
        var world = lost(.timeout)
        world.pass(until: at(106))
        world.setBusy(true)
        #expect(world.done.last == .cancel(Self.first))
        world.update()
        #expect(world.cancels == 1)
        world.answer(.failed)
        world.pass(until: at(500))
        #expect(world.pages.count == 1)
        world.setBusy(false)
        world.pass(until: at(502))
        #expect(world.done.last == .page(Self.first, number: 2, attempt: 1))
    }

    @Test func `nothing is paged while another headset's link is negotiated`() {
        var world = lost(.timeout)
        world.set(Self.second, .linked)
        world.pass(until: at(107))
        world.set(Self.second, .comingUp)
        world.pass(until: at(120))
        #expect(world.pages.isEmpty)
        world.set(Self.second, .up)
        world.pass(until: at(120))
        #expect(world.pages == [Self.first])
    }

    @Test func `a link that no profile comes up on is waited for ten seconds`() {
        var world = lost(.timeout)
        world.set(Self.second, .linked)
        world.pass(until: at(109.9))
        #expect(world.pages.isEmpty)
        world.pass(until: at(110))
        #expect(world.pages == [Self.first])
    }

    @Test(arguments: [ReconnectManager.Presence.linked, .comingUp, .up])
    func `a page is not given up for a call once its headset has connected`(_ presence: ReconnectManager.Presence) {
        var world = lost(.timeout)
        world.pass(until: at(110))
        #expect(world.pages == [Self.first])
        // bluetoothd answers when the last profile is up, seconds later.
        world.set(Self.first, presence)
        world.setBusy(true)
        #expect(world.cancels == 0)
        world.set(Self.first, .up)
        world.answer(.done)
        #expect(world.manager.standing(of: Self.first) == .none && world.memories[Self.first]?.left == nil)
    }

    // MARK: Wishes

    @Test(arguments: [true, false])
    func `one whose link is ended to free the controller is paged like one that was lost`(isTold: Bool) {
        var world = World(settings())
        world.set(Self.first, .up)
        world.pass(until: at(100))
        world.free(Self.first)
        if isTold { world.dismiss(Self.first) }
        world.set(Self.first, .linked)
        world.pass(until: at(102))
        world.say(.local, Self.first)
        world.set(Self.first, .away)
        #expect(world.manager.standing(of: Self.first) == .waiting)
        world.pass(until: at(107))
        #expect(world.pages == [Self.first])
        // The next end is somebody's again.
        world.set(Self.first, .up)
        world.answer(.done)
        world.pass(until: at(120))
        world.dismiss(Self.first)
        world.say(.local, Self.first)
        world.set(Self.first, .away)
        #expect(world.manager.standing(of: Self.first) == .leftAlone)
    }

    @Test(arguments: [true, false])
    func `one that somebody disconnected stays away until it connects, also over restarts and adapters`(isTold: Bool) {
        // A profile is told of it, or the kernel says who it was.
        var world = World(settings())
        world.set(Self.first, .up, hasVoice: isTold)
        world.pass(until: at(100))
        if isTold {
            world.dismiss(Self.first)
            world.set(Self.first, .linked)
            world.pass(until: at(102))
        }
        world.say(.local, Self.first)
        world.set(Self.first, .away)
        #expect(world.contains(.leave(Self.first, .byHand)) && world.memories[Self.first]?.left == .byHand)
        #expect(world.manager.standing(of: Self.first) == .leftAlone)
        world.pass(until: at(5000))
        world.remove(Self.first)
        world.set(Self.first, .away)
        world.pass(until: at(6000))
        #expect(world.pages.isEmpty)
        var next = World(settings(), memories: world.memories)
        next.set(Self.first, .away)
        next.pass(until: at(6000))
        #expect(next.pages.isEmpty && next.manager.standing(of: Self.first) == .leftAlone)
        // It connects by itself: known again.
        next.set(Self.first, .up)
        #expect(next.memories[Self.first]?.left == nil)
        next.say(.timeout, Self.first)
        next.set(Self.first, .away)
        next.pass(until: at(6005))
        #expect(next.pages == [Self.first])
    }

    @Test func `one that said good-bye is waited for, and paged after the adapter was away`() {
        var world = lost(.remote)
        #expect(world.contains(.leave(Self.first, .byHeadset)))
        world.pass(until: at(5000))
        #expect(world.pages.isEmpty && world.manager.standing(of: Self.first) == .leftAlone)
        // The daemon alone is started again: not so.
        var next = World(settings(), memories: world.memories)
        next.set(Self.first, .away)
        next.pass(until: at(100))
        #expect(next.pages.isEmpty)
        next.remove(Self.first)
        next.pass(until: at(200))
        next.set(Self.first, .away)
        next.pass(until: at(205))
        #expect(next.pages == [Self.first] && next.memories[Self.first]?.left == nil)
    }

    @Test func `a link that the kernel ends because nobody uses it any more is nobody's wish here`() {
        var world = lost(.local)
        #expect(world.contains(.leave(Self.first, .byHeadset)))
        world.remove(Self.first)
        world.set(Self.first, .away)
        world.pass(until: at(105))
        #expect(world.pages == [Self.first])
    }

    @Test func `the reason may come after the loss, also while it is paged`() {
        var world = lost(nil)
        world.pass(until: at(101))
        world.say(.remote, Self.first)
        world.pass(until: at(1000))
        #expect(world.pages.isEmpty && world.memories[Self.first]?.left == .byHeadset)

        var paged = lost(nil)
        paged.pass(until: at(105))
        #expect(paged.pages == [Self.first])
        paged.say(.remote, Self.first)
        #expect(paged.cancels == 1)
        paged.answer(.cancelled)
        paged.pass(until: at(1000))
        #expect(paged.pages.count == 1)
    }

    @Test func `a reason that comes much later, or was that of an earlier loss, says nothing`() {
        var world = lost(nil)
        world.pass(until: at(105.1))
        world.say(.local, Self.first)
        #expect(world.memories[Self.first]?.left == nil && world.cancels == 0)

        var again = lost(.timeout)
        again.set(Self.first, .up)
        again.say(.remote, Self.first)
        again.pass(until: at(110))
        again.set(Self.first, .away)
        #expect(again.memories[Self.first]?.left == nil)
    }

    @Test func `an adapter that is switched off, a bluetoothd that stops, is no wish`() {
        for isTold in [true, false] {
            var world = World(settings())
            world.set(Self.first, .up)
            world.pass(until: at(100))
            if isTold { world.dismiss(Self.first) }
            world.say(.local, Self.first)
            world.set(Self.first, .away)
            world.pass(until: at(101))
            world.remove(Self.first)
            #expect(world.memories[Self.first]?.left == nil)
            world.pass(until: at(200))
            world.set(Self.first, .away)
            world.pass(until: at(205))
            #expect(world.pages == [Self.first])
        }
    }

    @Test func `an adapter that goes later does not undo a wish`() {
        var world = World(settings())
        world.set(Self.first, .up)
        world.dismiss(Self.first)
        world.set(Self.first, .away)
        world.pass(until: at(10))
        world.remove(Self.first)
        #expect(world.memories[Self.first]?.left == .byHand)
    }

    @Test func `connections that end while nothing is served here tell no wishes`() {
        var world = World(settings())
        world.set(Self.first, .up)
        world.isActive = false
        world.update()
        world.say(.local, Self.first)
        world.set(Self.first, .away)
        #expect(world.memories[Self.first]?.left == nil)
        world.isActive = true
        world.update()
        world.pass(until: at(5))
        #expect(world.pages == [Self.first])
    }

    @Test func `the end of a link that no profile was up on, as of pairing, tells no wishes`() {
        var world = World(settings())
        world.set(Self.first, .linked)
        world.say(.local, Self.first)
        world.set(Self.first, .away)
        #expect(world.memories[Self.first]?.left == nil)
        world.pass(until: at(5))
        #expect(world.pages == [Self.first])
    }

    // MARK: Those that come and go

    /// Lost and back again, each `seconds` after the one before, five times.
    private func flapping(every seconds: Double, _ reason: DisconnectionReason = .timeout) -> World {
        var world = World(settings())
        for number in 1...5 {
            world.set(Self.first, .up)
            world.pass(until: at(seconds * Double(number)))
            world.say(reason, Self.first)
            world.set(Self.first, .away)
        }
        return world
    }

    @Test func `one that is lost five times in two minutes is left alone for a while, then paged again`() {
        var world = flapping(every: 4)
        #expect(world.contains(.quarantine(Self.first, losses: 5, until: at(320))))
        #expect(world.manager.standing(of: Self.first) == .quarantined)
        #expect(world.memories[Self.first]?.quarantine == at(320))
        world.pass(until: at(319.9))
        #expect(world.pages.isEmpty)
        world.pass(until: at(320))
        #expect(world.contains(.release(Self.first)) && world.pages == [Self.first])
        #expect(world.memories[Self.first]?.quarantine == nil)
    }

    @Test func `losses that are further apart do not count together`() {
        let world = flapping(every: 31)
        #expect(world.manager.standing(of: Self.first) == .waiting)
        #expect(!world.done.contains { if case .quarantine = $0 { true } else { false } })
    }

    @Test func `one that says good-bye again and again is told of as well`() {
        var world = flapping(every: 4, .remote)
        #expect(world.contains(.quarantine(Self.first, losses: 5, until: at(320))))
        world.pass(until: at(1000))
        #expect(world.contains(.release(Self.first)) && world.pages.isEmpty)
    }

    @Test func `quarantine ends when it connects by itself and stays, and goes on when it does not`() {
        var world = flapping(every: 4)
        world.pass(until: at(100))
        world.set(Self.first, .up)
        world.pass(until: at(120))
        world.say(.timeout, Self.first)
        world.set(Self.first, .away)
        #expect(world.memories[Self.first]?.quarantine == at(420))
        world.pass(until: at(200))
        world.set(Self.first, .up)
        world.pass(until: at(229.9))
        #expect(!world.contains(.release(Self.first)))
        world.pass(until: at(230))
        #expect(world.contains(.release(Self.first)))
        world.say(.timeout, Self.first)
        world.set(Self.first, .away)
        world.pass(until: at(235))
        #expect(world.pages == [Self.first])
    }

    @Test func `quarantine goes on after a restart of the daemon, and is told again`() {
        let memories = flapping(every: 4).memories
        var world = World(settings(), memories: memories)
        world.now = at(50)
        world.set(Self.first, .away)
        #expect(world.done == [.quarantine(Self.first, losses: 0, until: at(320))])
        world.pass(until: at(320))
        #expect(world.pages == [Self.first])
    }

    // MARK: Others

    @Test func `it is switched off and on`() {
        var world = lost(.timeout, settings: settings(isOn: false))
        world.pass(until: at(1000))
        #expect(world.pages.isEmpty && world.manager.standing(of: Self.first) == .none)
        world.follow(settings())
        world.pass(until: at(1005))
        #expect(world.pages == [Self.first])
        world.follow(settings(isOn: false))
        #expect(world.cancels == 1)
    }

    @Test func `one that is unpaired is forgotten, and its page given up`() {
        var world = flapping(every: 4)
        #expect(world.manager.forget(Self.first, at: world.now) == [.release(Self.first), .keep])
        #expect(world.manager.memories.isEmpty)
        var paged = lost(.timeout)
        paged.pass(until: at(105))
        #expect(paged.manager.forget(Self.first, at: at(106)).contains(.cancel(Self.first)))
        #expect(paged.manager.forget(Self.first, at: at(107)).isEmpty)
    }

    @Test func `random courses never page two at once, in a call, or one that is left alone`() {
        var random = SeededGenerator(seed: 20_261_123)
        let addresses = [Self.first, Self.second, Self.third]
        let reasons: [DisconnectionReason] = [.timeout, .local, .remote, .unknown, .authentication, .suspend]
        for _ in 0..<60 {
            var world = World(settings())
            var outstanding = 0
            for _ in 0..<300 {
                let address = addresses[Int.random(in: 0..<3, using: &random)]
                let before = world.done.count
                switch Int.random(in: 0..<10, using: &random) {
                case 0: world.set(address, .up, hasVoice: Bool.random(using: &random))
                case 1, 2: world.set(address, .away)
                case 3: world.set(address, Bool.random(using: &random) ? .linked : .comingUp)
                case 4: world.remove(address)
                case 5: world.say(reasons[Int.random(in: 0..<6, using: &random)], address)
                case 6: world.dismiss(address)
                case 7: world.setBusy(Bool.random(using: &random))
                case 8:
                    if outstanding > 0 {
                        outstanding = 0
                        world.answer(.failed)
                    }
                default: world.pass(until: world.now.advanced(by: .seconds(Int.random(in: 1...60, using: &random))))
                }
                for action in world.done[before...] {
                    guard case .page(let paged, _, _) = action else { continue }
                    outstanding += 1
                    #expect(outstanding == 1)
                    #expect(!world.isBusy && world.facts[paged]?.presence == .away)
                    #expect(world.manager.memories[paged]?.left == nil)
                    #expect(world.manager.memories[paged]?.quarantine == nil)
                }
                if let deadline = world.deadline { #expect(deadline >= world.now) }
            }
        }
    }
}
