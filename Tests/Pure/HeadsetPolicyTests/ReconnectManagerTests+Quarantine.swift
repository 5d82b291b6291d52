import BluetoothTypes
import HeadsetPolicy
import Testing

/// Headsets that come and go.
extension ReconnectManagerTests {
    /// Lost and back, each `seconds` after the previous time, five times.
    func flapping(every seconds: Double, _ reason: DisconnectionReason = .timeout) -> ReconnectWorld {
        var world = ReconnectWorld(settings())
        for number in 1...5 {
            world.set(Self.first, .up)
            world.pass(until: at(seconds * Double(number)))
            world.say(reason, Self.first)
            world.set(Self.first, .away)
        }
        return world
    }

    @Test func `a headset lost five times in two minutes is left alone for a while, then paged again`() {
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

    @Test func `losses further apart do not count together`() {
        let world = flapping(every: 31)
        #expect(world.manager.standing(of: Self.first) == .waiting)
        #expect(!world.done.contains { if case .quarantine = $0 { true } else { false } })
    }

    @Test func `a headset that keeps disconnecting itself raises the alarm as well`() {
        var world = flapping(every: 4, .remote)
        #expect(world.contains(.quarantine(Self.first, losses: 5, until: at(320))))
        world.pass(until: at(1000))
        #expect(world.contains(.release(Self.first)) && world.pages.isEmpty)
    }

    @Test func `quarantine ends when the headset connects and stays, and continues when it does not`() {
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

    @Test func `quarantine continues after a restart of the daemon, and is reported again`() {
        let memories = flapping(every: 4).memories
        var world = ReconnectWorld(settings(), memories: memories)
        world.now = at(50)
        world.set(Self.first, .away)
        #expect(world.done == [.quarantine(Self.first, losses: 0, until: at(320))])
        world.pass(until: at(320))
        #expect(world.pages == [Self.first])
    }
}
