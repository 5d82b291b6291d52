import AudioDSP
import CBTCall
import Foundation
import Synchronization

/// Two ends of a packet socket.
func packetSocketPair() -> (ours: Int32, theirs: Int32) {
    var ends: [Int32] = [-1, -1]
    _ = socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0, &ends)
    return (ends[0], ends[1])
}

/// Runs a body on a thread with a radio's priority, where that is allowed.
func startThread(_ body: @escaping @Sendable () -> Void) -> Thread {
    let thread = Thread {
        var parameter = sched_param(sched_priority: 10)
        pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameter)
        body()
    }
    thread.start()
    return thread
}

/// A headset, or a simulated sound card: sends a packet each period and stores the received ones.
final class PacedPeer: @unchecked Sendable {
    private struct State {
        var received: [Int16] = []
        var packetsReceived = 0
        var packetsSent = 0
        var isPaused = false
        var isStopped = false
        /// Packets to hold back, which are then sent at once.
        var stall = 0
        var failures = 0
    }

    let descriptor: Int32
    private let format: LinkFormat
    private let packetBytes: Int
    private let state = Mutex(State())
    private let ended = DispatchSemaphore(value: 0)
    private let source: @Sendable (Int) -> Int16

    /// - Parameter source: returns the sample with this number, counted from 0, at the link's rate.
    init(_ descriptor: Int32, _ format: LinkFormat, packetBytes: Int, source: @escaping @Sendable (Int) -> Int16) {
        self.descriptor = descriptor
        self.format = format
        self.packetBytes = packetBytes
        self.source = source
    }

    func start() { _ = startThread { [self] in run() } }

    var received: [Int16] { state.withLock { $0.received } }
    var packetsReceived: Int { state.withLock { $0.packetsReceived } }
    var packetsSent: Int { state.withLock { $0.packetsSent } }
    var failures: Int { state.withLock { $0.failures } }
    func pause() { state.withLock { $0.isPaused = true } }
    func resume() { state.withLock { $0.isPaused = false } }
    func stall(packets: Int) { state.withLock { $0.stall = packets } }

    /// Ends the thread and closes the socket.
    func stop() {
        state.withLock { $0.isStopped = true }
        ended.wait()
        close(descriptor)
    }

    private func run() {
        var transmitter = LinkTransmitter(format)
        var receiver = LinkReceiver(format)
        let period = Int64(packetBytes) * 1_000_000_000 / Int64(format.bytesPerSecond)
        let bytes = UnsafeMutablePointer<UInt8>.allocate(capacity: 4_096)
        let samples = UnsafeMutablePointer<Int16>.allocate(capacity: 16_384)
        defer {
            bytes.deallocate()
            samples.deallocate()
            ended.signal()
        }
        var next = btcall_monotonic_nanoseconds()
        var position = 0
        var owed = 0
        while !state.withLock({ $0.isStopped }) {
            let now = btcall_monotonic_nanoseconds()
            if now < next {
                var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                if btcall_poll(&poll, 1, next - now) > 0 { receive(&receiver, bytes, samples) }
                continue
            }
            next += period
            let held = state.withLock { state -> Bool in
                if state.stall > 0 {
                    state.stall -= 1
                    return true
                }
                return false
            }
            if state.withLock({ $0.isPaused }) { continue }
            owed += 1
            if held { continue }
            while owed > 0 {
                owed -= 1
                let frames = transmitter.framesNeeded(packetBytes: packetBytes)
                for index in 0..<frames { samples[index] = source(position + index) }
                position += frames
                _ = transmitter.makePacket(bytes, packetBytes, from: samples, frames)
                let sent = btcall_send_packet(descriptor, bytes, packetBytes)
                state.withLock { state in
                    if sent == packetBytes { state.packetsSent += 1 } else { state.failures += 1 }
                }
            }
        }
    }

    private func receive(
        _ receiver: inout LinkReceiver, _ bytes: UnsafeMutablePointer<UInt8>, _ samples: UnsafeMutablePointer<Int16>
    ) {
        while true {
            let count = btcall_receive_block(descriptor, bytes, 4_096)
            if count <= 0 {
                // The other end is gone, so nothing more arrives: wait for the period instead of spinning.
                if count == 0 { usleep(1_000) }
                return
            }
            let frames = receiver.receive(bytes, count, status: 0, into: samples, capacity: 16_384)
            state.withLock { state in
                state.received.append(contentsOf: UnsafeBufferPointer(start: samples, count: frames))
                state.packetsReceived += 1
            }
        }
    }
}

/// A telephony application: answers each block with one.
final class Provider: @unchecked Sendable {
    private struct State {
        var received: [Int16] = []
        var blocks = 0
        var isHolding = false
    }

    let descriptor: Int32
    private let blockFrames: Int
    private let state = Mutex(State())
    private let ended = DispatchSemaphore(value: 0)
    private let source: @Sendable (Int) -> Int16

    /// - Parameter source: returns the sample with this number, counted from 0, at the call's rate.
    init(_ descriptor: Int32, rate: Int, source: @escaping @Sendable (Int) -> Int16) {
        self.descriptor = descriptor
        blockFrames = rate / 100
        self.source = source
    }

    func start() { _ = startThread { [self] in run() } }

    var received: [Int16] { state.withLock { $0.received } }
    var blocks: Int { state.withLock { $0.blocks } }

    func stop() {
        shutdown(descriptor, Int32(SHUT_RDWR))
        ended.wait()
        close(descriptor)
    }

    private func run() {
        defer { ended.signal() }
        var block = [Int16](repeating: 0, count: blockFrames)
        var position = 0
        while true {
            let count = recv(descriptor, &block, blockFrames * 2, 0)
            if count <= 0 { return }
            state.withLock { state in
                state.received.append(contentsOf: block)
                state.blocks += 1
            }
            for index in 0..<blockFrames { block[index] = source(position + index) }
            position += blockFrames
            _ = send(descriptor, block, blockFrames * 2, Int32(MSG_NOSIGNAL))
        }
    }
}
