import AudioDSP
import CBTCall
import Foundation

@testable import AudioEngine

/// An engine, with functions to wait for its events.
final class EngineBench {
    let engine: AudioEngine
    private(set) var events: [AudioEngineEvent] = []

    init(_ change: (inout AudioEngineConfiguration) -> Void = { _ in }) throws {
        var configuration = AudioEngineConfiguration()
        configuration.locksMemory = false
        change(&configuration)
        engine = try AudioEngine(configuration)
    }

    /// Waits for a matching event; nil after the timeout.
    @discardableResult
    func wait(
        seconds: Double = 5, _ fits: (AudioEngineEvent) -> Bool
    ) -> AudioEngineEvent? {
        let deadline = btcall_monotonic_nanoseconds() + Int64(seconds * 1e9)
        while true {
            if let index = events.firstIndex(where: fits) {
                let found = events[index]
                events.removeSubrange(...index)
                return found
            }
            let left = deadline - btcall_monotonic_nanoseconds()
            if left <= 0 { return nil }
            var poll = pollfd(fd: engine.eventDescriptor, events: Int16(POLLIN), revents: 0)
            _ = btcall_poll(&poll, 1, left)
            events += engine.takeEvents()
        }
    }

    /// Lets the real-time side run until a condition holds, checked every 5 ms; false if it never did.
    func waitUntil(seconds: Double = 5, _ condition: () -> Bool) -> Bool {
        let deadline = btcall_monotonic_nanoseconds() + Int64(seconds * 1e9)
        while !condition() {
            if btcall_monotonic_nanoseconds() > deadline { return false }
            var poll = pollfd(fd: engine.eventDescriptor, events: Int16(POLLIN), revents: 0)
            _ = btcall_poll(&poll, 1, 5_000_000)
            events += engine.takeEvents()
        }
        return true
    }

    /// Minimum result of up to three tries, which end with the first within the limit: a machine that stalls does so in one
    /// of them.
    func quickest(within limit: Int64, _ measure: () throws -> Int64) rethrows -> Int64 {
        var least = Int64.max
        for _ in 1...3 where least > limit { least = min(least, try measure()) }
        return least
    }

    /// Drops the events so far.
    func forgetEvents() {
        events += engine.takeEvents()
        events.removeAll()
    }

    func terminal(_ id: UInt32) -> EngineCounters.Terminal? {
        engine.counters().terminals.first { $0.id == id }
    }

    func call(_ id: UInt32) -> EngineCounters.Call? {
        engine.counters().calls.first { $0.id == id }
    }

    /// A headset on a new link.
    func makeHeadset(
        _ id: UInt32, _ codec: LinkCodec, _ format: LinkFormat, packetBytes: Int, hint: Int = 60,
        speaksAtOnce: Bool = false, source: @escaping @Sendable (Int) -> Int16
    ) throws -> (peer: PacedPeer, descriptor: Int32) {
        let ends = packetSocketPair()
        let peer = PacedPeer(ends.theirs, format, packetBytes: packetBytes, source: source)
        try engine.addTerminal(
            id, .link(descriptor: ends.ours, codec: codec, packetBytesHint: hint), speaksAtOnce: speaksAtOnce)
        peer.start()
        return (peer, ends.ours)
    }

    func makeCall(
        _ id: UInt32, rate: Int, active: Bool = true, source: @escaping @Sendable (Int) -> Int16
    ) throws -> Provider {
        let ends = packetSocketPair()
        let provider = Provider(ends.theirs, rate: rate, source: source)
        provider.start()
        try engine.attachCall(id, descriptor: ends.ours, rate: rate, active: active)
        return provider
    }
}
