import AudioDSP
import BluetoothTypes
import CALSA
import CBTCall
import Foundation
import TestSupport
import Testing

@testable import AudioEngine

/// A headset over A2DP: receives packets as they arrive.
final class SinkPeer: @unchecked Sendable {
    let descriptor: Int32
    private let lock = NSLock()
    private let sink = SBCSink()
    private var isStopped = false
    private var isPaused = false
    private let ended = DispatchSemaphore(value: 0)

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    func start() { _ = startThread { [self] in run() } }

    func look<Value>(_ body: (SBCSink) -> Value) -> Value { lock.withLock { body(sink) } }
    var frames: Int { look { $0.left.count } }
    func pause() { lock.withLock { isPaused = true } }
    func resume() { lock.withLock { isPaused = false } }

    /// Ends the thread and closes the socket.
    func stop() {
        lock.withLock { isStopped = true }
        ended.wait()
        close(descriptor)
    }

    private func run() {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        defer { ended.signal() }
        while !lock.withLock({ isStopped }) {
            var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            if lock.withLock({ isPaused }) || btcall_poll(&poll, 1, 5_000_000) <= 0 {
                usleep(1_000)
                continue
            }
            let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            if count <= 0 { usleep(1_000) }
            if count > 0 { lock.withLock { sink.receive(Array(buffer[..<count])) } }
        }
    }
}

/// By default joint stereo at 44.1 kHz and bitpool 53.
func streamConfiguration(_ bytes: [UInt8] = [0x21, 0x15, 2, 53]) throws -> SBCConfiguration {
    try SBCCapabilities(bytes).select()
}

extension EngineBench {
    /// A headset on a new stream.
    func makeSink(
        _ id: UInt32, _ bytes: [UInt8] = [0x21, 0x15, 2, 53], mtu: Int = 672, isAlone: Bool = false
    ) throws -> (peer: SinkPeer, descriptor: Int32) {
        let ends = packetSocketPair()
        _ = fcntl(ends.ours, F_SETFL, O_NONBLOCK)
        let configuration = try streamConfiguration(bytes)
        try engine.addTerminal(
            id,
            .stream(
                MediaStream(
                    descriptor: ends.ours, configuration: configuration, bitpool: configuration.bitpool(.standard),
                    writeMTU: mtu)),
            isAlone: isAlone)
        let peer = SinkPeer(ends.theirs)
        peer.start()
        return (peer, ends.ours)
    }
}

/// A stream's port without its thread, in given time; independent of the machine's speed.
final class StreamPortBench {
    let port: StreamPointer
    let counters: UnsafeMutablePointer<TerminalCounters>
    let sink = SBCSink()
    private let ours: Int32
    let theirs: Int32
    private(set) var ticks = 0
    private var block = [Int16](repeating: 0, count: 160)

    init(_ configuration: SBCConfiguration, bitpool: Int? = nil, mtu: Int = 672) throws {
        (ours, theirs) = packetSocketPair()
        var room = Int32(4 * mtu)
        _ = setsockopt(ours, SOL_SOCKET, SO_SNDBUF, &room, 4)
        port = .allocate(capacity: 1)
        let wanted = bitpool ?? configuration.bitpool(.standard)
        let fitting = try #require(configuration.bitpool(wanted, within: mtu - MediaPacketizer.headerBytes))
        port.initialize(
            to: StreamPort(
                MediaStream(descriptor: ours, configuration: configuration, bitpool: wanted, writeMTU: mtu),
                bitpool: fitting, bus: 16_000, rates: AudioEngine.rates, speakerGain: 1))
        counters = .allocate(capacity: 1)
        counters.initialize(to: TerminalCounters())
    }

    deinit {
        port.deinitialize(count: 1).deallocate()
        counters.deinitialize(count: 1).deallocate()
        close(ours)
        close(theirs)
    }

    var counted: EngineCounters.Terminal { counters.pointee.snapshot(id: 1, isLink: false) }

    var isWaiting: Bool { port.pointee.isWaiting }
    var isBlocked: Bool { port.pointee.isBlocked }
    var isFadedOut: Bool { port.pointee.isFadedOut }
    var queuedMilliseconds: Int { port.pointee.queuedMilliseconds }

    func finish() -> Bool { port.pointee.finish(counters).isDone }

    /// Plays 10 ms of the bus. Returns 0 or an errno.
    @discardableResult
    func tick(_ source: (Int) -> Int16 = { _ in 0 }) -> Int32 {
        for index in block.indices { block[index] = source(ticks * 160 + index) }
        ticks += 1
        return port.pointee.play(block, 160, now: Int64(ticks) * 10_000_000, counters)
    }

    /// The headset receives at most this many packets. Returns their bytes.
    @discardableResult
    func receive(_ count: Int = .max) -> Int {
        var (left, taken) = (count, 0)
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while left > 0 {
            let bytes = recv(theirs, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            if bytes <= 0 { break }
            sink.receive(Array(buffer[..<bytes]))
            left -= 1
            taken += bytes
        }
        return taken
    }

    /// As after poll: the socket has room.
    func resumeIfBlocked() -> Int32 { port.pointee.isBlocked ? port.pointee.resume(counters) : 0 }
}
