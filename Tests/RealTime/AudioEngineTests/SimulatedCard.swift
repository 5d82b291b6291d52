import AudioDSP
import CALSA
import CBTCall
import Foundation

@testable import AudioEngine

/// A sound card's stream within alsa-lib, whose clock is a number: written audio is played, and read audio captured, as
/// `now` advances, at a rate that can be wrong by some ppm.
final class SimulatedCard {
    let pcm: OpaquePointer
    let rate: Int
    let layout: SampleLayout
    let bufferFrames: Int
    /// Nanoseconds; set before each use of the stream.
    var now: Int64 = 0
    /// Difference by which the card is faster than its nominal rate.
    var ppm = 0.0
    /// Resolution of the card's reports in frames: a millisecond for USB.
    var grain = 1
    /// The machine has slept: the stream has to be prepared before it is used.
    var isSuspended = false
    /// Written audio, in playback order.
    var onPlayed: ((UnsafeRawPointer, Int) -> Void)?
    /// Captured audio: fills this many frames.
    var onCapture: ((UnsafeMutableRawPointer, Int) -> Void)?
    /// Frames written (playback) or read (capture) since the stream was prepared.
    private(set) var moved = 0
    private(set) var startedAt: Int64?
    private(set) var xruns = 0

    private let isPlayback: Bool
    private let plugin: UnsafeMutablePointer<snd_pcm_ioplug_t>
    private let callbacks: UnsafeMutablePointer<snd_pcm_ioplug_callback_t>
    private let name: UnsafeMutablePointer<CChar>

    struct Failure: Error {
        let call: String
        let code: Int32
    }

    init(
        _ direction: snd_pcm_stream_t, rate: Int = 48_000, layout: SampleLayout = SampleLayout(),
        bufferMilliseconds: Int = 200
    ) throws {
        self.rate = rate
        self.layout = layout
        isPlayback = direction == SND_PCM_STREAM_PLAYBACK
        plugin = .allocate(capacity: 1)
        plugin.initialize(to: snd_pcm_ioplug_t())
        callbacks = .allocate(capacity: 1)
        callbacks.initialize(to: snd_pcm_ioplug_callback_t())
        name = strdup("simulated")
        plugin.pointee.version = 0x1_0002
        plugin.pointee.name = UnsafePointer(name)
        plugin.pointee.poll_fd = -1
        plugin.pointee.callback = UnsafePointer(callbacks)
        callbacks.pointee.start = { simulated($0).start() }
        callbacks.pointee.stop = { simulated($0).stop() }
        callbacks.pointee.prepare = { simulated($0).prepare() }
        callbacks.pointee.pointer = { simulated($0).position() }
        callbacks.pointee.transfer = { simulated($0).transfer($1, $2, $3) }
        var code = snd_pcm_ioplug_create(plugin, "simulated", direction, Int32(SND_PCM_NONBLOCK))
        guard code >= 0, let made = plugin.pointee.pcm else { throw Failure(call: "snd_pcm_ioplug_create", code: code) }
        pcm = made
        let format: snd_pcm_format_t =
            switch layout.format {
            case .s16: SND_PCM_FORMAT_S16_LE
            case .s24Packed: SND_PCM_FORMAT_S24_3LE
            case .s24: SND_PCM_FORMAT_S24_LE
            case .s32: SND_PCM_FORMAT_S32_LE
            case .f32: SND_PCM_FORMAT_FLOAT_LE
            }
        let frames = rate * bufferMilliseconds / 1000
        bufferFrames = frames
        try limit(SND_PCM_IOPLUG_HW_ACCESS, to: Int(SND_PCM_ACCESS_RW_INTERLEAVED.rawValue))
        try limit(SND_PCM_IOPLUG_HW_FORMAT, to: Int(format.rawValue))
        try limit(SND_PCM_IOPLUG_HW_CHANNELS, to: layout.channels)
        try limit(SND_PCM_IOPLUG_HW_RATE, to: rate)
        try limit(SND_PCM_IOPLUG_HW_BUFFER_BYTES, to: frames * layout.frameBytes)
        try limit(SND_PCM_IOPLUG_HW_PERIODS, to: bufferMilliseconds / 10)
        plugin.pointee.private_data = Unmanaged.passUnretained(self).toOpaque()
        code = snd_pcm_set_params(
            pcm, format, SND_PCM_ACCESS_RW_INTERLEAVED, UInt32(layout.channels), UInt32(rate), 0,
            UInt32(bufferMilliseconds * 1000))
        guard code >= 0 else { throw Failure(call: "snd_pcm_set_params", code: code) }
    }

    private func limit(_ kind: some BinaryInteger, to value: Int) throws {
        var number = UInt32(value)
        let code = snd_pcm_ioplug_set_param_list(plugin, Int32(kind), 1, &number)
        guard code >= 0 else { throw Failure(call: "snd_pcm_ioplug_set_param_list", code: code) }
    }

    deinit {
        snd_pcm_close(pcm)
        plugin.deinitialize(count: 1).deallocate()
        callbacks.deinitialize(count: 1).deallocate()
        free(name)
    }

    /// Frames that the card's clock has counted since the start at a given time.
    func passed(at time: Int64) -> Double {
        guard let startedAt else { return 0 }
        return Double(time - startedAt) * Double(rate) * (1 + ppm * 1e-6) / 1e9
    }

    fileprivate func prepare() -> Int32 {
        isSuspended = false
        moved = 0
        startedAt = nil
        return 0
    }

    fileprivate func start() -> Int32 {
        startedAt = now
        return 0
    }

    fileprivate func stop() -> Int32 {
        startedAt = nil
        return 0
    }

    fileprivate func position() -> snd_pcm_sframes_t {
        let frames = Int(passed(at: now))
        // Underrun or overrun.
        if isPlayback ? frames > moved : frames > moved + bufferFrames {
            xruns += 1
            return -snd_pcm_sframes_t(EPIPE)
        }
        return frames / grain * grain % bufferFrames
    }

    fileprivate func transfer(
        _ areas: UnsafePointer<snd_pcm_channel_area_t>?, _ offset: snd_pcm_uframes_t, _ frames: snd_pcm_uframes_t
    ) -> snd_pcm_sframes_t {
        if isSuspended { return -snd_pcm_sframes_t(ESTRPIPE) }
        guard let area = areas?.pointee, let start = area.addr else { return -snd_pcm_sframes_t(EINVAL) }
        let place = start + (Int(area.first) + Int(offset) * Int(area.step)) / 8
        if isPlayback { onPlayed?(place, Int(frames)) } else { onCapture?(place, Int(frames)) }
        moved += Int(frames)
        return snd_pcm_sframes_t(frames)
    }
}

private func simulated(_ plugin: UnsafeMutablePointer<snd_pcm_ioplug_t>?) -> SimulatedCard {
    guard let card = plugin?.pointee.private_data else { fatalError("alsa-lib calls without the plug-in") }
    return Unmanaged<SimulatedCard>.fromOpaque(card).takeUnretainedValue()
}

/// A path's port without its thread, and the thread's state for it.
final class PathBench {
    let path: UnsafeMutablePointer<PathPort>
    let counters: UnsafeMutablePointer<TerminalCounters>
    private let ring: UnsafeMutablePointer<SampleRing>
    private let bus: BusRates
    private var busRate: Int
    private let silence: [Int16]

    convenience init(
        playback: SimulatedCard?, capture: SimulatedCard? = nil, busRate: Int = 16_000, queueMilliseconds: Int = 50
    ) {
        self.init(
            playback: playback, capture: capture, bus: BusRates(busRate), queueMilliseconds: queueMilliseconds)
    }

    /// - Parameter queueMilliseconds: target of the card's queue.
    init(playback: SimulatedCard?, capture: SimulatedCard? = nil, bus: BusRates, queueMilliseconds: Int = 50) {
        self.bus = bus
        busRate = bus.lowest
        var streams = ALSAPath(playback: playback?.pcm, capture: capture?.pcm)
        if let playback {
            streams.playbackRate = playback.rate
            streams.playbackChannels = playback.layout.channels
            streams.playbackFormat = playback.layout.format
            streams.playbackBufferFrames = playback.bufferFrames
        }
        if let capture {
            streams.captureRate = capture.rate
            streams.captureChannels = capture.layout.channels
            streams.captureFormat = capture.layout.format
            streams.captureBufferFrames = capture.bufferFrames
            streams.capturePeriodFrames = capture.rate / 100
        }
        let descriptors = UnsafeMutablePointer<pollfd>.allocate(capacity: PathPort.maximumDescriptors)
        descriptors.initialize(repeating: pollfd(), count: PathPort.maximumDescriptors)
        path = .allocate(capacity: 1)
        path.initialize(
            to: PathPort(
                streams, bus: bus, target: streams.playbackRate * queueMilliseconds / 1000,
                descriptors: descriptors, descriptorCount: 0))
        counters = .allocate(capacity: 1)
        counters.initialize(to: TerminalCounters())
        ring = .allocate(capacity: 1)
        ring.initialize(to: SampleRing(capacity: streams.playbackRate / 2))
        silence = [Int16](repeating: 0, count: path.pointee.leadFrames())
    }

    deinit {
        path.deinitialize(count: 1).deallocate()
        counters.deinitialize(count: 1).deallocate()
        ring.deinitialize(count: 1).deallocate()
    }

    var queuedInRing: Int { ring.pointee.available }

    /// Continues at another rate of the bus, after silence.
    func changeBus(to index: Int) {
        path.pointee.changeBus(to: index, after: silence, busRate / 100)
        busRate = bus.rate(index)
    }

    func start(now: Int64) -> Int32 { path.pointee.start(now: now, lead: silence, 0) }

    /// The thread's handling of a block for the routed path, from `RealtimeThread.play`.
    func play(_ block: UnsafePointer<Int16>, now: Int64, steer: Bool = true) -> Int {
        path.pointee.convert(block, busRate / 100, into: ring.pointee, counters)
        path.pointee.topUp(coming: ring.pointee.available)
        return path.pointee.flush(ring.pointee, now: now, steer: steer, counters)
    }
}
