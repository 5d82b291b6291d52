import CALSA
import Glibc

/// Requested settings of a PCM; `PCMHandle` has the resulting ones.
package struct PCMConfiguration: Equatable, Sendable {
    /// Sample rate in Hz; the device's nearest of 48000, 44100, 32000, 24000, 16000 and 8000 is used.
    package var rate: Int
    /// 1 or 2; the other number is used if the device lacks this one.
    package var channels: Int
    package var periodMilliseconds: Int
    /// Playback requests at least 80 ms, so that a stall of 40 ms does not run it dry; capture requests at least 400 ms,
    /// because its buffer costs no delay.
    package var bufferMilliseconds: Int

    package init(rate: Int = 48_000, channels: Int = 1, periodMilliseconds: Int = 10, bufferMilliseconds: Int = 200) {
        self.rate = rate
        self.channels = channels
        self.periodMilliseconds = periodMilliseconds
        self.bufferMilliseconds = bufferMilliseconds
    }
}

/// One open direction of a sound device: interleaved, non-blocking, started by hand.
///
/// The control side opens and closes it. While the real-time thread has the handle, no other thread uses it.
package final class PCMHandle: @unchecked Sendable {
    package enum Direction: Sendable {
        case playback, capture
    }

    /// Layout of one sample in memory, little-endian; in the order in which formats are tried.
    package enum Format: Sendable, CaseIterable {
        case s16, s32, s24, s24Packed, f32

        fileprivate var alsa: snd_pcm_format_t {
            switch self {
            case .s16: SND_PCM_FORMAT_S16_LE
            case .s32: SND_PCM_FORMAT_S32_LE
            case .s24: SND_PCM_FORMAT_S24_LE
            case .s24Packed: SND_PCM_FORMAT_S24_3LE
            case .f32: SND_PCM_FORMAT_FLOAT_LE
            }
        }
    }

    /// The rates that the audio path works with, best first.
    package static let rates = [48_000, 44_100, 32_000, 24_000, 16_000, 8_000]

    package let device: String
    package let direction: Direction
    /// `snd_pcm_t *`; valid until `close`.
    package let pcm: OpaquePointer
    package let format: Format
    /// Sample rate in Hz.
    package let rate: Int
    /// 1 or 2.
    package let channels: Int
    package let periodFrames: Int
    package let bufferFrames: Int
    private var isOpen = true

    /// Opens a device by its ALSA name and sets it up; the device is then in the state PREPARED.
    ///
    /// - Throws: `missing`, `busy`, `unsupported` or `failed`; nothing stays open.
    package init(
        _ device: String, _ direction: Direction, _ wanted: PCMConfiguration = PCMConfiguration()
    ) throws(ALSAError) {
        var handle: OpaquePointer?
        let stream = direction == .playback ? SND_PCM_STREAM_PLAYBACK : SND_PCM_STREAM_CAPTURE
        let mode = Int32(SND_PCM_NONBLOCK) | Int32(SND_PCM_NO_AUTO_RESAMPLE)
        let result = snd_pcm_open(&handle, device, stream, mode)
        guard result >= 0, let handle else {
            throw ALSAError(device: device, call: "snd_pcm_open", result: result, direction: direction)
        }
        do throws(ALSAError) {
            var setup = PCMSetup(pcm: handle, device: device, direction: direction)
            try setup.negotiate(wanted)
            try setup.setStart()
            format = setup.format
            rate = setup.rate
            channels = setup.channels
            periodFrames = setup.periodFrames
            bufferFrames = setup.bufferFrames
        } catch {
            snd_pcm_close(handle)
            throw error
        }
        pcm = handle
        self.device = device
        self.direction = direction
    }

    deinit { close() }

    /// Closes the device and drops queued samples.
    package func close() {
        guard isOpen else { return }
        isOpen = false
        snd_pcm_drop(pcm)
        snd_pcm_close(pcm)
    }
}

/// Set-up of one PCM.
private struct PCMSetup {
    let pcm: OpaquePointer
    let device: String
    let direction: PCMHandle.Direction
    var format = PCMHandle.Format.s16
    var rate = 0
    var channels = 0
    var periodFrames = 0
    var bufferFrames = 0

    private func check(_ result: Int32, _ call: String) throws(ALSAError) {
        if result < 0 { throw ALSAError(device: device, call: call, result: result, direction: direction) }
    }

    /// Sets the hardware parameters: access, format, channels, rate, and times as near as the device can.
    mutating func negotiate(_ wanted: PCMConfiguration) throws(ALSAError) {
        var parameters: OpaquePointer?
        try check(snd_pcm_hw_params_malloc(&parameters), "snd_pcm_hw_params_malloc")
        defer { snd_pcm_hw_params_free(parameters) }
        try check(snd_pcm_hw_params_any(pcm, parameters), "snd_pcm_hw_params_any")
        try check(snd_pcm_hw_params_set_rate_resample(pcm, parameters, 0), "snd_pcm_hw_params_set_rate_resample")
        guard snd_pcm_hw_params_set_access(pcm, parameters, SND_PCM_ACCESS_RW_INTERLEAVED) >= 0 else {
            throw .unsupported(device: device, what: "has no interleaved access; put plug: in front of its name")
        }
        // A refused format leaves the parameters unchanged; most cards take the first.
        guard
            let taken = PCMHandle.Format.allCases.first(where: {
                snd_pcm_hw_params_set_format(pcm, parameters, $0.alsa) >= 0
            })
        else {
            throw .unsupported(
                device: device, what: "has none of the formats S16, S32, S24, S24_3LE, FLOAT; put plug: in front")
        }
        format = taken
        let countsInOrder = wanted.channels == 2 ? [2, 1] : [1, 2]
        guard
            let count = countsInOrder.first(where: {
                snd_pcm_hw_params_test_channels(pcm, parameters, UInt32($0)) == 0
            })
        else {
            throw .unsupported(device: device, what: "has neither 1 nor 2 channels; make a route for it in asound.conf")
        }
        channels = count
        try check(snd_pcm_hw_params_set_channels(pcm, parameters, UInt32(count)), "snd_pcm_hw_params_set_channels")
        let ratesInOrder = PCMHandle.rates.sorted { ($0 - wanted.rate).magnitude < ($1 - wanted.rate).magnitude }
        guard
            let found = ratesInOrder.first(where: {
                snd_pcm_hw_params_test_rate(pcm, parameters, UInt32($0), 0) == 0
            })
        else {
            throw .unsupported(
                device: device,
                what: "has none of the rates 48000, 44100, 32000, 24000, 16000, 8000; put plug: in front")
        }
        rate = found
        try check(snd_pcm_hw_params_set_rate(pcm, parameters, UInt32(found), 0), "snd_pcm_hw_params_set_rate")
        try setTimes(wanted, parameters)
        try check(snd_pcm_hw_params(pcm, parameters), "snd_pcm_hw_params")
    }

    private mutating func setTimes(_ wanted: PCMConfiguration, _ parameters: OpaquePointer?) throws(ALSAError) {
        var period = UInt(rate * max(wanted.periodMilliseconds, 1) / 1_000)
        var direction: Int32 = 0
        try check(
            snd_pcm_hw_params_set_period_size_near(pcm, parameters, &period, &direction),
            "snd_pcm_hw_params_set_period_size_near")
        let least = self.direction == .capture ? 400 : 80
        var buffer = UInt(rate * max(wanted.bufferMilliseconds, least) / 1_000)
        try check(
            snd_pcm_hw_params_set_buffer_size_near(pcm, parameters, &buffer), "snd_pcm_hw_params_set_buffer_size_near")
        guard buffer >= 2 * period else {
            throw .unsupported(device: device, what: "its buffer of \(buffer) frames has no room for two periods")
        }
        periodFrames = Int(period)
        bufferFrames = Int(buffer)
    }

    /// Sets the software parameters: started only by hand, woken once a period, stopped on an xrun.
    func setStart() throws(ALSAError) {
        var parameters: OpaquePointer?
        try check(snd_pcm_sw_params_malloc(&parameters), "snd_pcm_sw_params_malloc")
        defer { snd_pcm_sw_params_free(parameters) }
        try check(snd_pcm_sw_params_current(pcm, parameters), "snd_pcm_sw_params_current")
        var boundary: UInt = 0
        try check(snd_pcm_sw_params_get_boundary(parameters, &boundary), "snd_pcm_sw_params_get_boundary")
        try check(
            snd_pcm_sw_params_set_start_threshold(pcm, parameters, boundary), "snd_pcm_sw_params_set_start_threshold")
        try check(
            snd_pcm_sw_params_set_avail_min(pcm, parameters, UInt(periodFrames)), "snd_pcm_sw_params_set_avail_min")
        try check(snd_pcm_sw_params(pcm, parameters), "snd_pcm_sw_params")
    }
}
