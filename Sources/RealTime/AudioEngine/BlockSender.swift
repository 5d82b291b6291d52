import AudioDSP
import CBTCall
import Glibc

/// The thread's side of audio sent through a socket: 10 ms each tick, as one message or as part of a stream
/// (docs/Applications.md). It never waits: audio for which the socket has no room is dropped.
struct BlockSender: ~Copyable {
    /// Returned in place of an errno: the socket had no room.
    static var dropped: Int32 { @_noLocks get { -1 } }

    let descriptor: Int32
    /// Frames in 10 ms.
    let blockFrames: Int

    private let layout: SampleLayout
    private let isStream: Bool
    private let blockBytes: Int
    private var fromBus: FromBus
    /// Resampler of the right channel when the channels differ.
    private var rightFromBus: FromBus
    private let block: UnsafeMutablePointer<Int16>
    private let right: UnsafeMutablePointer<Int16>
    /// Buffer for the block when its samples differ from `block` or its rest may have to wait; otherwise empty.
    private let message: UnsafeMutableRawPointer
    /// Bytes at the end of `message` that a stream has not accepted yet: a block is never cut short.
    private var restBytes = 0

    /// - Parameters:
    ///   - descriptor: remains the owner's.
    ///   - rate: sample rate of the output in Hz.
    init(descriptor: Int32, rate: Int, layout: SampleLayout, isStream: Bool = false, bus: BusRates) {
        self.descriptor = descriptor
        self.layout = layout
        self.isStream = isStream
        blockFrames = rate / 100
        blockBytes = blockFrames * layout.frameBytes
        fromBus = FromBus(to: rate, bus: bus)
        rightFromBus = FromBus(to: rate, bus: layout.channels == 2 ? bus : BusRates(rate))
        block = .allocate(capacity: blockFrames)
        block.initialize(repeating: 0, count: blockFrames)
        let rightFrames = layout.channels == 2 ? blockFrames : 0
        right = .allocate(capacity: rightFrames)
        right.initialize(repeating: 0, count: rightFrames)
        let room = layout.isPlain && !isStream ? 0 : blockBytes
        message = .allocate(byteCount: room, alignment: 16)
        message.initializeMemory(as: UInt8.self, repeating: 0, count: room)
    }

    deinit {
        block.deallocate()
        right.deallocate()
        message.deallocate()
    }

    /// Sets the rate of the bus before the first block.
    @_noLocks
    mutating func adoptBus(_ index: Int) {
        fromBus.set(index)
        rightFromBus.set(index)
    }

    /// Continues at another rate of the bus.
    ///
    /// - Parameters:
    ///   - last: the latest block, of `frames` frames at the old rate.
    ///   - right: the right channel of that.
    @_noLocks
    mutating func changeBus(
        to index: Int, after last: UnsafePointer<Int16>, right: UnsafePointer<Int16>, _ frames: Int
    ) {
        fromBus.change(to: index, after: last, frames)
        rightFromBus.change(to: index, after: right, frames)
    }

    /// Sends 10 ms, given as `frames` of the bus, perhaps doubled ones (see `Resampler`). Returns 0, `dropped` or an errno.
    @_noLocks
    mutating func send(_ input: UnsafePointer<Int16>, _ frames: Int, isDoubled: Bool = false) -> Int32 {
        Self.convert(&fromBus, input, frames, block, blockFrames, isDoubled: isDoubled)
        return send(isPair: false)
    }

    /// Sends 10 ms with separate left and right channels; requires a layout with two channels.
    @_noLocks
    mutating func send(
        left input: UnsafePointer<Int16>, right other: UnsafePointer<Int16>, _ frames: Int
    ) -> Int32 {
        Self.convert(&fromBus, input, frames, block, blockFrames)
        Self.convert(&rightFromBus, other, frames, right, blockFrames)
        return send(isPair: true)
    }

    /// Sends 10 ms of silence.
    @_noLocks
    mutating func sendSilence() -> Int32 {
        clear(block, blockFrames)
        return send(isPair: false)
    }

    @_noLocks
    private static func convert(
        _ resampler: inout FromBus, _ input: UnsafePointer<Int16>, _ frames: Int,
        _ output: UnsafeMutablePointer<Int16>, _ outputFrames: Int, isDoubled: Bool = false
    ) {
        let result = resampler.process(input, frames, output, outputFrames, isDoubled: isDoubled)
        if result.made < outputFrames { clear(output + result.made, outputFrames - result.made) }
    }

    @_noLocks
    private mutating func send(isPair: Bool) -> Int32 {
        if layout.isPlain && !isStream {
            let sent = btcall_send_packet(descriptor, block, blockBytes)
            return sent >= 0 ? 0 : Self.outcome(sent)
        }
        if restBytes > 0 {
            let code = sendRest()
            if code != 0 { return code }
        }
        if isPair {
            layout.write(left: block, right: right, blockFrames, to: message)
        } else {
            layout.write(block, blockFrames, to: message)
        }
        restBytes = blockBytes
        let code = sendRest()
        // If no byte was sent, the block may be dropped; otherwise its rest is sent first next time.
        if code == Self.dropped && restBytes == blockBytes {
            restBytes = 0
            return code
        }
        return code == Self.dropped ? 0 : code
    }

    /// Sends the rest of the message.
    @_noLocks
    private mutating func sendRest() -> Int32 {
        while restBytes > 0 {
            let sent = btcall_send_packet(descriptor, message + (blockBytes - restBytes), restBytes)
            if sent < 0 { return Self.outcome(sent) }
            restBytes -= sent
        }
        return 0
    }

    @_noLocks
    private static func outcome(_ sent: Int) -> Int32 {
        if sent == -Int(EAGAIN) || sent == -Int(ENOBUFS) { return dropped }
        return Int32(truncatingIfNeeded: -sent)
    }
}
