import BluetoothTypes
import HeadsetPolicy
import TestSupport
import Testing

@Suite struct ReconnectManagerTests {
    typealias Manager = ReconnectManager
    static let first = BluetoothAddress(value: 0x0000_5E00_5301)
    static let second = BluetoothAddress(value: 0x0000_5E00_5302)
    static let third = BluetoothAddress(value: 0x0000_5E00_5303)

    func at(_ seconds: Double) -> Instant { Instant(milliseconds: Int64(seconds * 1000)) }

    func settings(
        isOn: Bool = true, losses: Int = 5, order: [BluetoothAddress] = []
    ) -> ReconnectManager.Settings {
        .init(
            isOn: isOn, first: .seconds(5), longest: .seconds(300), losses: losses, quarantine: .seconds(300),
            order: order)
    }

    /// A headset that was up at 0 and is lost at `time` for this reason.
    func lost(
        _ reason: DisconnectionReason?, at time: Double = 100, settings: ReconnectManager.Settings? = nil,
        hasVoice: Bool = true
    ) -> ReconnectWorld {
        var world = ReconnectWorld(settings ?? self.settings())
        world.set(Self.first, .up, hasVoice: hasVoice)
        world.pass(until: at(time))
        if let reason { world.say(reason, Self.first) }
        world.set(Self.first, .away)
        return world
    }

    /// Times at which a headset that never answers is paged.
    private func times(_ world: inout ReconnectWorld, until end: Double) -> [Double] {
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

    // MARK: Paging lost headsets

    @Test func `after the start known headsets are paged, not before the first interval`() {
        var world = ReconnectWorld(settings())
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

    @Test func `the intervals double up to the longest`() {
        var world = lost(.timeout)
        // Counted from the answer, 5 s after the page.
        #expect(
            times(&world, until: 1500) == [105, 120, 145, 190, 275, 440, 745, 1050, 1355])
        let attempts = world.done.compactMap { if case .page(_, _, let attempt) = $0 { attempt } else { nil } }
        #expect(attempts == Array(1...9))
    }

    @Test func `success resets the intervals, so that the next loss begins with the first one`() {
        var world = lost(.timeout)
        _ = times(&world, until: 300)
        world.set(Self.first, .up)
        world.pass(until: at(1000))
        world.say(.timeout, Self.first)
        world.set(Self.first, .away)
        world.pass(until: at(1005))
        #expect(world.now == at(1005) && world.pages.count == 6)
    }

    @Test func `an adapter that returns, and a daemon that serves again, reset the intervals`() {
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

    @Test func `a headset that tries to connect resets the intervals`() {
        var world = lost(.timeout)
        _ = times(&world, until: 500)
        world.set(Self.first, .linked)
        world.set(Self.first, .away)
        #expect(times(&world, until: 540) == [505, 520])
    }

    @Test func `a page that another program makes, or that could not be made, is no attempt`() {
        var world = lost(.timeout)
        world.pass(until: at(105))
        world.answer(.inProgress)
        world.pass(until: at(110))
        #expect(world.pages.count == 2)
        world.answer(.notTried)
        world.pass(until: at(115))
        #expect(world.done.last == .page(Self.first, number: 3, attempt: 1))
    }

    @Test func `a headset whose pairing is void is paged at the longest interval`() {
        var world = lost(.timeout)
        world.pass(until: at(105))
        world.answer(.notPaired)
        world.pass(until: at(404))
        #expect(world.pages.count == 1)
        world.pass(until: at(405))
        #expect(world.pages.count == 2)
    }

    // MARK: One at a time, in order

    @Test func `the list comes first, then the most recently used, then the address`() {
        var world = ReconnectWorld(
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
        var fresh = ReconnectWorld(settings())
        fresh.set(Self.second, .away)
        fresh.set(Self.first, .away)
        fresh.pass(until: at(5))
        #expect(fresh.pages == [Self.first])
    }

    @Test func `one headset is paged at a time, with a pause after it in which others can page us`() {
        var world = ReconnectWorld(settings())
        world.facts = [Self.first: .init(Self.first, .away), Self.second: .init(Self.second, .away)]
        world.update()
        world.pass(until: at(9))
        #expect(world.pages == [Self.first])
        world.answer(.failed)
        world.pass(until: at(10.9))
        #expect(world.pages.count == 1)
        world.pass(until: at(11))
        #expect(world.pages == [Self.first, Self.second])
        // An answer to an earlier page does not count for this one.
        world.done.removeAll { if case .page(Self.second, _, _) = $0 { true } else { false } }
        world.answer(.failed)
        world.pass(until: at(30))
        #expect(world.manager.standing(of: Self.second) == .paging)
    }

    @Test func `the most recently used headset is stored, and written only when it changes`() {
        var world = ReconnectWorld(settings())
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

    @Test func `nothing is paged during a call or a link's set-up, or shortly after it`() {
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

    @Test func `a page in progress when a call begins is cancelled, and does not count`() {
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

    @Test func `nothing is paged while another headset's link is being set up`() {
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

    @Test func `a link without a profile is waited for ten seconds`() {
        var world = lost(.timeout)
        world.set(Self.second, .linked)
        world.pass(until: at(109.9))
        #expect(world.pages.isEmpty)
        world.pass(until: at(110))
        #expect(world.pages == [Self.first])
    }

    @Test(arguments: [ReconnectManager.Presence.linked, .comingUp, .up])
    func `a page is not cancelled for a call once its headset has connected`(_ presence: ReconnectManager.Presence) {
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

    // MARK: Other cases

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

    @Test func `an unpaired headset is forgotten, and its page cancelled`() {
        var world = flapping(every: 4)
        #expect(world.manager.forget(Self.first, at: world.now) == [.release(Self.first), .keep])
        #expect(world.manager.memories.isEmpty)
        var paged = lost(.timeout)
        paged.pass(until: at(105))
        #expect(paged.manager.forget(Self.first, at: at(106)).contains(.cancel(Self.first)))
        #expect(paged.manager.forget(Self.first, at: at(107)).isEmpty)
    }

    @Test func `random courses never page two at once, during a call, or one that is left alone`() {
        var random = SeededGenerator(seed: 20_261_123)
        let addresses = [Self.first, Self.second, Self.third]
        let reasons: [DisconnectionReason] = [.timeout, .local, .remote, .unknown, .authentication, .suspend]
        for _ in 0..<60 {
            var world = ReconnectWorld(settings())
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
