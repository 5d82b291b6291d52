import AudioDSP
package import BluetoothTypes
import CBTCall
import Glibc

/// Runs the thread's work for programs that play in stereo to a headset over A2DP without the thread, for measurements.
package final class StreamExchange {
    private static let busRate = 16_000
    private static let writeMTU = 1_000
    private static let bufferBytes = 4_096

    private let memories: [PCMMemory]
    private let ends: (headset: Int32, ours: Int32)
    private let stream: StreamPointer
    private let programs: PCMPointer
    private let playbacks: PlaybackPointer
    private let counters: UnsafeMutablePointer<TerminalCounters>
    private let silence: UnsafeMutablePointer<Int16>
    private let buffer: UnsafeMutablePointer<UInt8>
    private let rate: Int
    private var now: Int64 = 0
    /// Ticks that are due, and how many of them the thread makes in one turn.
    private var due = 0
    private var ticksInTurn = 1

    /// - Parameters:
    ///   - configuration: its rate is the programs', too: one of `AudioEngine.rates`.
    ///   - programs: how many play, 1 or more; several are mixed.
    package init(_ configuration: SBCConfiguration, programs count: Int = 1) throws(AudioEngineError) {
        rate = configuration.rate
        var memories: [PCMMemory] = []
        for _ in 0..<max(count, 1) {
            memories.append(
                try PCMMemory(
                    rate: rate, layout: SampleLayout(.s16, channels: 2), bufferFrames: rate / 2,
                    periodFrames: rate / 20, isCapture: false))
        }
        self.memories = memories
        var descriptors: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0, &descriptors) == 0 else {
            throw .failed(call: "socketpair", code: errno)
        }
        ends = (descriptors[0], descriptors[1])
        let bitpool = configuration.bitpool(.standard)
        let media = MediaStream(
            descriptor: ends.ours, configuration: configuration, bitpool: bitpool, writeMTU: Self.writeMTU)
        let bus = BusRates(Self.busRate)
        stream = .allocate(capacity: 1)
        stream.initialize(
            to: StreamPort(media, bitpool: bitpool, bus: bus, rates: AudioEngine.rates, speakerGain: 1))
        counters = .allocate(capacity: 1)
        counters.initialize(to: TerminalCounters())
        silence = .allocate(capacity: Self.busRate / 100)
        silence.initialize(repeating: 0, count: Self.busRate / 100)
        buffer = .allocate(capacity: Self.bufferBytes)
        buffer.initialize(repeating: 0, count: Self.bufferBytes)
        programs = .allocate(capacity: memories.count)
        playbacks = .allocate(capacity: memories.count)
        for (index, memory) in memories.enumerated() {
            (programs + index).initialize(to: PCMPort(id: 1, memory, bus: bus))
            (playbacks + index).initialize(
                to: PlaybackPort(
                    id: 1, .stream(programs + index), rank: 0, duckGain: 1, yieldsToCalls: false,
                    target: PlaybackPort.nowhere, bus: bus, volume: 1))
            let samples = memory.samples.assumingMemoryBound(to: Int16.self)
            for index in 0..<2 * memory.bufferFrames { samples[index] = Int16(index * 37 % 20_001 - 10_000) }
            memory.ring.pointee.application = UInt64(memory.bufferFrames)
        }
    }

    deinit {
        stream.deinitialize(count: 1).deallocate()
        playbacks.deinitialize(count: memories.count).deallocate()
        programs.deinitialize(count: memories.count).deallocate()
        counters.deinitialize(count: 1).deallocate()
        silence.deallocate()
        buffer.deallocate()
        close(ends.headset)
        close(ends.ours)
    }

    /// Plays 10 ms of the programs: from their rings to packets, which the headset receives. As in the thread, the ticks of a
    /// packet are made in one turn.
    package func pass() {
        due += 1
        if due < ticksInTurn { return }
        now &+= RealtimeThread.tickNanoseconds &* Int64(due)
        // The programs keep their rings full.
        for memory in memories { memory.ring.pointee.application &+= UInt64(due * rate / 100) }
        let sent = counters.pointee.packetsSent.read()
        if memories.count == 1, stream.pointee.passesUnchanged, playbacks.pointee.playsUnchanged(rate: rate) {
            _ = stream.pointee.pass(programs, of: playbacks, blocks: due, now: now, counters)
        } else {
            for _ in 0..<due { mix() }
        }
        due = 0
        ticksInTurn = min(stream.pointee.ticksToPacket, playbacks.pointee.ticksAtOnce, 3)
        if counters.pointee.packetsSent.read() == sent { return }
        _ = recv(ends.headset, buffer, Self.bufferBytes, Int32(MSG_DONTWAIT))
    }

    private func mix() {
        let lane = stream.pointee.lane(rate: rate)
        for index in memories.indices where lane >= 0 {
            let room = stream.pointee.room(in: lane)
            if playbacks[index].takePairs(room, isSilenced: false) { stream.pointee.add(to: lane) }
        }
        _ = stream.pointee.play(silence, Self.busRate / 100, now: now, counters)
    }
}
