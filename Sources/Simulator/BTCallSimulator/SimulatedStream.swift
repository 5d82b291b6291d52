import AudioDSP
package import BluetoothTypes
import CBTCall
import Glibc
import Synchronization

/// Encoding of a simulated microphone's and loudspeaker's audio.
package enum StreamFormat: Equatable, Sendable {
    /// Packets of a synchronous connection, one per 7.5 ms.
    case link(VoiceCodec)
    /// Blocks of a sound card, one per 10 ms.
    case card(rate: Int)

    package var rate: Int {
        switch self {
        case .link(let codec): codec.sampleRate
        case .card(let rate): rate
        }
    }

    /// In units of 2.5 ms.
    var periodTicks: Int {
        switch self {
        case .link: 3
        case .card: 4
        }
    }

    var blockFrames: Int { rate * periodTicks / 400 }

    /// Size of a packet in bytes, as on an adapter with transparent data or 16-bit CVSD.
    var packetBytes: Int {
        switch self {
        case .link(.mSBC), .link(.lc3SWB): 60
        case .link, .card: blockFrames * 2
        }
    }

    var linkFormat: LinkFormat {
        switch self {
        case .link(.mSBC): .mSBC
        case .link(.lc3SWB): .lc3SWB
        case .link(.cvsd): .cvsd
        case .card(let rate): .pcm16(rate: rate)
        }
    }
}

/// The far end of one link or sound card: sends a packet of its microphone for each period of its own clock and plays
/// received packets, like a headset's controller. Used by the pacer's thread only.
final class SimulatedStream: @unchecked Sendable {
    let identifier: UInt32
    let format: StreamFormat
    private let descriptor: Int32
    /// Samples at the stream's rate, repeated. Read at the time of the simulation, so that the person seems to talk
    /// continuously.
    private let microphone: [Int16]
    private var receiver: LinkReceiver
    private var transmitter: LinkTransmitter
    private var queue: [[Int16]] = []
    private var isPlaying = false
    /// Loses one of this many packets; 0 loses none.
    var loseEach = 0
    private var packets = 0
    /// Playback that the microphone will hear again, at a quarter of its level; nil when it does not.
    private var loop: [Int16]?
    private(set) var timeline: AudioTimeline
    /// Loudest sample played since it was last reset to 0.
    var peak = 0
    private let isRecording: Bool
    private let scratch: UnsafeMutablePointer<Int16>
    private let packet: UnsafeMutablePointer<UInt8>
    private static let capacity = 4096

    init(identifier: UInt32, format: StreamFormat, descriptor: Int32, microphone: [Int16], isRecording: Bool) {
        self.identifier = identifier
        self.format = format
        self.descriptor = descriptor
        self.microphone = microphone
        self.isRecording = isRecording
        receiver = LinkReceiver(format.linkFormat)
        transmitter = LinkTransmitter(format.linkFormat)
        timeline = AudioTimeline(rate: format.rate)
        scratch = .allocate(capacity: Self.capacity)
        scratch.initialize(repeating: 0, count: Self.capacity)
        packet = .allocate(capacity: Self.capacity)
        packet.initialize(repeating: 0, count: Self.capacity)
    }

    deinit {
        scratch.deallocate()
        packet.deallocate()
        close(descriptor)
    }

    /// Lays the loudspeaker on the microphone, which then hears nothing else.
    ///
    /// - Parameter milliseconds: delay of the sound.
    func loopBack(after milliseconds: Int) {
        loop = [Int16](repeating: 0, count: format.rate * milliseconds / 1000)
    }

    /// Runs one period: receives packets, plays a block, sends a packet.
    ///
    /// - Returns: false when the other end has gone.
    func run(at nanoseconds: Int64) -> Bool {
        guard receiveAll() else { return false }
        play(at: nanoseconds)
        return sendPacket(at: nanoseconds)
    }

    /// Plays queued audio, as a card does when its stream is closed in order.
    func playOut(at nanoseconds: Int64) {
        _ = receiveAll()
        if isRecording { for block in queue { timeline.append(block, at: nanoseconds) } }
        queue = []
    }

    private func receiveAll() -> Bool {
        while true {
            let count = recv(descriptor, packet, Self.capacity, Int32(MSG_DONTWAIT))
            if count < 0 { return errno == EAGAIN || errno == EINTR }
            guard count > 0 else { return false }
            let frames = receiver.receive(packet, count, status: 0, into: scratch, capacity: Self.capacity)
            if frames > 0 { queue.append(Array(UnsafeBufferPointer(start: scratch, count: frames))) }
        }
    }

    /// A headset queues two packets before it begins, and plays silence when the queue is empty.
    private func play(at nanoseconds: Int64) {
        if queue.count >= 2 { isPlaying = true }
        if isPlaying, queue.isEmpty { isPlaying = false }
        guard isPlaying else {
            loop? += [Int16](repeating: 0, count: format.blockFrames)
            return
        }
        let block = queue.removeFirst()
        peak = block.reduce(peak) { max($0, Int($1.magnitude)) }
        loop? += block.map { $0 / 4 }
        if isRecording { timeline.append(block, at: nanoseconds) }
    }

    private func sendPacket(at nanoseconds: Int64) -> Bool {
        let frames = min(transmitter.framesNeeded(packetBytes: format.packetBytes), Self.capacity)
        let start = Int(nanoseconds * Int64(format.rate) / 1_000_000_000)
        let echo = loop?.prefix(frames)
        loop?.removeFirst(echo?.count ?? 0)
        for offset in 0..<frames {
            if let echo {
                scratch[offset] = offset < echo.count ? echo[offset] : 0
                continue
            }
            scratch[offset] = microphone.isEmpty ? 0 : microphone[(start + offset) % microphone.count]
        }
        _ = transmitter.makePacket(packet, format.packetBytes, from: scratch, frames)
        packets += 1
        if loseEach > 0, packets % loseEach == 0 { return true }
        let flags = Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)
        if send(descriptor, packet, format.packetBytes, flags) >= 0 { return true }
        return errno == EAGAIN || errno == EINTR
    }
}
