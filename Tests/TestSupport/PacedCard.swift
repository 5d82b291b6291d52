import CALSA
import CBTCall
import Glibc
import Synchronization

/// A sound card's stream within alsa-lib, driven by the machine's clock: 48 kHz, mono, S16, woken every 10 ms, 200 ms of
/// buffer. A capture stream repeats one sample.
package final class PacedCard: @unchecked Sendable {
    package struct Failure: Error, CustomStringConvertible {
        let call: String
        let code: Int32

        package var description: String { "\(call): \(code)" }
    }

    package static let rate = 48_000
    package static let periodFrames = 480
    package static let bufferFrames = 9_600

    package let pcm: OpaquePointer
    private let isPlayback: Bool
    private let sample: Int16
    private let restsWhenAsked: Bool
    private let timer: Int32
    private let plugin: UnsafeMutablePointer<snd_pcm_ioplug_t>
    private let callbacks: UnsafeMutablePointer<snd_pcm_ioplug_callback_t>
    private let name: UnsafeMutablePointer<CChar>

    private struct State {
        var startedAt: Int64?
        var starts = 0
        var moved = 0
        var total = 0
        var xruns = 0
        var isOpen = true
        var played: [Int16] = []
    }

    private let state = Mutex(State())

    /// - Parameters:
    ///   - sample: the captured sample.
    ///   - restsWhenAsked: keeps its descriptor readable until `snd_pcm_poll_descriptors_revents`, like `dsnoop`.
    package init(capturing sample: Int16? = nil, restsWhenAsked: Bool = false) throws(Failure) {
        isPlayback = sample == nil
        self.sample = sample ?? 0
        self.restsWhenAsked = restsWhenAsked
        timer = timerfd_create(CLOCK_MONOTONIC, Int32(TFD_NONBLOCK | TFD_CLOEXEC))
        plugin = .allocate(capacity: 1)
        plugin.initialize(to: snd_pcm_ioplug_t())
        callbacks = .allocate(capacity: 1)
        callbacks.initialize(to: snd_pcm_ioplug_callback_t())
        name = strdup("paced")
        plugin.pointee.version = 0x1_0002
        plugin.pointee.name = UnsafePointer(name)
        plugin.pointee.poll_fd = timer
        plugin.pointee.poll_events = UInt32(POLLIN)
        plugin.pointee.callback = UnsafePointer(callbacks)
        callbacks.pointee.start = { paced($0).start() }
        callbacks.pointee.stop = { paced($0).stop() }
        callbacks.pointee.prepare = { paced($0).prepare() }
        callbacks.pointee.pointer = { paced($0).position() }
        callbacks.pointee.transfer = { paced($0).transfer($1, $2, $3) }
        callbacks.pointee.poll_revents = { paced($0).answer($1, $2, $3) }
        let direction = isPlayback ? SND_PCM_STREAM_PLAYBACK : SND_PCM_STREAM_CAPTURE
        var code = snd_pcm_ioplug_create(plugin, "paced", direction, Int32(SND_PCM_NONBLOCK))
        guard code >= 0, let made = plugin.pointee.pcm else { throw Failure(call: "snd_pcm_ioplug_create", code: code) }
        pcm = made
        plugin.pointee.private_data = Unmanaged.passUnretained(self).toOpaque()
        let limits = [
            (SND_PCM_IOPLUG_HW_ACCESS, Int(SND_PCM_ACCESS_RW_INTERLEAVED.rawValue)),
            (SND_PCM_IOPLUG_HW_FORMAT, Int(SND_PCM_FORMAT_S16_LE.rawValue)), (SND_PCM_IOPLUG_HW_CHANNELS, 1),
            (SND_PCM_IOPLUG_HW_RATE, Self.rate), (SND_PCM_IOPLUG_HW_BUFFER_BYTES, Self.bufferFrames * 2),
            (SND_PCM_IOPLUG_HW_PERIODS, Self.bufferFrames / Self.periodFrames),
        ]
        for (kind, value) in limits {
            var number = UInt32(value)
            code = snd_pcm_ioplug_set_param_list(plugin, Int32(kind), 1, &number)
            guard code >= 0 else { throw Failure(call: "snd_pcm_ioplug_set_param_list", code: code) }
        }
        code = snd_pcm_set_params(
            pcm, SND_PCM_FORMAT_S16_LE, SND_PCM_ACCESS_RW_INTERLEAVED, 1, UInt32(Self.rate), 0, 200_000)
        guard code >= 0 else { throw Failure(call: "snd_pcm_set_params", code: code) }
    }

    deinit {
        close()
        plugin.deinitialize(count: 1).deallocate()
        callbacks.deinitialize(count: 1).deallocate()
        free(name)
        Glibc.close(timer)
    }

    package func close() {
        let wasOpen = state.withLock { state in
            defer { state.isOpen = false }
            return state.isOpen
        }
        if wasOpen { snd_pcm_close(pcm) }
    }

    package var isOpen: Bool { state.withLock { $0.isOpen } }
    package var isRunning: Bool { state.withLock { $0.startedAt != nil } }
    /// Number of starts.
    package var starts: Int { state.withLock { $0.starts } }
    /// Frames read or written since it was opened.
    package var frames: Int { state.withLock { $0.total } }
    package var xruns: Int { state.withLock { $0.xruns } }
    /// Samples written to it.
    package var played: [Int16] { state.withLock { $0.played } }

    // MARK: Callbacks of alsa-lib

    private static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    private func arm(_ nanoseconds: Int) {
        var time = itimerspec()
        time.it_interval.tv_nsec = nanoseconds
        time.it_value.tv_nsec = nanoseconds
        timerfd_settime(timer, 0, &time, nil)
    }

    fileprivate func prepare() -> Int32 {
        state.withLock { state in
            state.moved = 0
            state.startedAt = nil
        }
        return 0
    }

    fileprivate func start() -> Int32 {
        arm(10_000_000)
        state.withLock { state in
            state.startedAt = Self.now
            state.starts += 1
        }
        return 0
    }

    fileprivate func stop() -> Int32 {
        arm(0)
        state.withLock { $0.startedAt = nil }
        return 0
    }

    private func rest() {
        var expirations: UInt64 = 0
        _ = read(timer, &expirations, 8)
    }

    fileprivate func answer(
        _ descriptors: UnsafeMutablePointer<pollfd>?, _ count: UInt32, _ events: UnsafeMutablePointer<UInt16>?
    ) -> Int32 {
        guard let descriptors, count == 1, let events else { return -EINVAL }
        rest()
        events.pointee = UInt16(bitPattern: descriptors.pointee.revents)
        return 0
    }

    fileprivate func position() -> snd_pcm_sframes_t {
        if !restsWhenAsked { rest() }
        return state.withLock { state in
            guard let startedAt = state.startedAt else { return 0 }
            let frames = Int((Self.now - startedAt) * Int64(Self.rate) / 1_000_000_000)
            if isPlayback ? frames > state.moved : frames > state.moved + Self.bufferFrames {
                state.xruns += 1
                return -snd_pcm_sframes_t(EPIPE)
            }
            return frames % Self.bufferFrames
        }
    }

    fileprivate func transfer(
        _ areas: UnsafePointer<snd_pcm_channel_area_t>?, _ offset: snd_pcm_uframes_t, _ frames: snd_pcm_uframes_t
    ) -> snd_pcm_sframes_t {
        guard let area = areas?.pointee, let start = area.addr else { return -snd_pcm_sframes_t(EINVAL) }
        let place = (start + (Int(area.first) + Int(offset) * Int(area.step)) / 8).assumingMemoryBound(to: Int16.self)
        let samples = UnsafeMutableBufferPointer(start: place, count: Int(frames))
        if !isPlayback { samples.update(repeating: sample) }
        state.withLock { state in
            if isPlayback { state.played += samples }
            state.moved += Int(frames)
            state.total += Int(frames)
        }
        return snd_pcm_sframes_t(frames)
    }
}

private func paced(_ plugin: UnsafeMutablePointer<snd_pcm_ioplug_t>?) -> PacedCard {
    guard let card = plugin?.pointee.private_data else { fatalError("alsa-lib calls without the plug-in") }
    return Unmanaged<PacedCard>.fromOpaque(card).takeUnretainedValue()
}
