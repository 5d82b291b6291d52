import BluetoothTypes
import HeadsetPolicy
import Testing

/// Who ended a connection, and the consequences for the next one.
extension ReconnectManagerTests {
    @Test(arguments: [true, false])
    func `a headset disconnected to free the controller is paged like a lost one`(isTold: Bool) {
        var world = ReconnectWorld(settings())
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
        // The next end is intended again.
        world.set(Self.first, .up)
        world.answer(.done)
        world.pass(until: at(120))
        world.dismiss(Self.first)
        world.say(.local, Self.first)
        world.set(Self.first, .away)
        #expect(world.manager.standing(of: Self.first) == .leftAlone)
    }

    @Test(arguments: [true, false])
    func `a headset that somebody disconnected stays away until it connects, over restarts and adapters`(isTold: Bool) {
        // A profile reports it, or the kernel names the side.
        var world = ReconnectWorld(settings())
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
        var next = ReconnectWorld(settings(), memories: world.memories)
        next.set(Self.first, .away)
        next.pass(until: at(6000))
        #expect(next.pages.isEmpty && next.manager.standing(of: Self.first) == .leftAlone)
        // It connects: known again.
        next.set(Self.first, .up)
        #expect(next.memories[Self.first]?.left == nil)
        next.say(.timeout, Self.first)
        next.set(Self.first, .away)
        next.pass(until: at(6005))
        #expect(next.pages == [Self.first])
    }

    @Test func `a headset that disconnected itself is waited for, and paged after the adapter was away`() {
        var world = lost(.remote)
        #expect(world.contains(.leave(Self.first, .byHeadset)))
        world.pass(until: at(5000))
        #expect(world.pages.isEmpty && world.manager.standing(of: Self.first) == .leftAlone)
        // Not when only the daemon was restarted.
        var next = ReconnectWorld(settings(), memories: world.memories)
        next.set(Self.first, .away)
        next.pass(until: at(100))
        #expect(next.pages.isEmpty)
        next.remove(Self.first)
        next.pass(until: at(200))
        next.set(Self.first, .away)
        next.pass(until: at(205))
        #expect(next.pages == [Self.first] && next.memories[Self.first]?.left == nil)
    }

    @Test func `an unused link that the kernel ends was not disconnected by hand`() {
        var world = lost(.local)
        #expect(world.contains(.leave(Self.first, .byHeadset)))
        world.remove(Self.first)
        world.set(Self.first, .away)
        world.pass(until: at(105))
        #expect(world.pages == [Self.first])
    }

    @Test func `the reason may arrive after the loss, also while the headset is paged`() {
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

    @Test func `a reason that arrives much later, or belongs to an earlier loss, is ignored`() {
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

    @Test func `an adapter that is switched off, or a bluetoothd that stops, disconnects nothing by hand`() {
        for isTold in [true, false] {
            var world = ReconnectWorld(settings())
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

    @Test func `an adapter that disappears later does not undo an intended disconnection`() {
        var world = ReconnectWorld(settings())
        world.set(Self.first, .up)
        world.dismiss(Self.first)
        world.set(Self.first, .away)
        world.pass(until: at(10))
        world.remove(Self.first)
        #expect(world.memories[Self.first]?.left == .byHand)
    }

    @Test func `connections that end while nothing is served here show no intention`() {
        var world = ReconnectWorld(settings())
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

    @Test func `the end of a link without a profile, as after pairing, shows no intention`() {
        var world = ReconnectWorld(settings())
        world.set(Self.first, .linked)
        world.say(.local, Self.first)
        world.set(Self.first, .away)
        #expect(world.memories[Self.first]?.left == nil)
        world.pass(until: at(5))
        #expect(world.pages == [Self.first])
    }
}
