import ALSA
import CALSA
import CommandKit
import Glibc

/// Plays a tone on a device, and records from its microphone.
enum SoundCheck {
    /// Length of the tone, and of the recording.
    static let seconds = 1
    /// Frequency in Hz.
    static let tone = 440.0
    /// Relative to full scale: -20 dB.
    private static let amplitude = 0.1
    /// Longest time between two blocks before the card counts as stuck.
    private static let stuckMilliseconds: Int32 = 2000

    /// - Throws: ``CommandFailure`` with the reason for silence.
    static func play(_ device: String) throws {
        let handle = try open(device, .playback)
        defer { handle.close() }
        let total = handle.rate * seconds
        var samples = [Int16](repeating: 0, count: total * handle.channels)
        for frame in 0..<total {
            let value = amplitude * sin(2 * .pi * tone * Double(frame) / Double(handle.rate))
            for channel in 0..<handle.channels { samples[frame * handle.channels + channel] = Int16(value * 32767) }
        }
        var done = 0
        while done < total {
            let written = samples[(done * handle.channels)...].withUnsafeBufferPointer {
                // The buffer is never empty.
                guard let start = $0.baseAddress else { return -Int(EINVAL) }
                return snd_pcm_writei(handle.pcm, start, UInt(total - done))
            }
            if written == -Int(EAGAIN) {
                if snd_pcm_state(handle.pcm) == SND_PCM_STATE_PREPARED { snd_pcm_start(handle.pcm) }
                try wait(handle)
            } else if written < 0 {
                throw CommandFailure("\(device): snd_pcm_writei: \(text(Int32(written)))")
            } else {
                done += written
            }
        }
        if snd_pcm_state(handle.pcm) == SND_PCM_STATE_PREPARED { snd_pcm_start(handle.pcm) }
        // Drains in blocking mode; in non-blocking mode it would return at once.
        snd_pcm_nonblock(handle.pcm, 0)
        snd_pcm_drain(handle.pcm)
    }

    /// - Returns: the loudest sample of one second, 0…32767.
    /// - Throws: ``CommandFailure`` with the reason for failure.
    static func record(_ device: String) throws -> Int {
        let handle = try open(device, .capture)
        defer { handle.close() }
        snd_pcm_start(handle.pcm)
        var left = handle.rate * seconds
        var peak = 0
        var samples = [Int16](repeating: 0, count: handle.bufferFrames * handle.channels)
        while left > 0 {
            let count = samples.withUnsafeMutableBufferPointer {
                guard let start = $0.baseAddress else { return -Int(EINVAL) }
                return snd_pcm_readi(handle.pcm, start, UInt(min(left, handle.bufferFrames)))
            }
            if count == -Int(EAGAIN) {
                try wait(handle)
            } else if count < 0 {
                throw CommandFailure("\(device): snd_pcm_readi: \(text(Int32(count)))")
            } else {
                for sample in samples.prefix(count * handle.channels) { peak = max(peak, Int(sample.magnitude)) }
                left -= count
            }
        }
        return min(peak, 32767)
    }

    /// Decibels relative to full scale; nil for digital silence.
    static func decibels(_ peak: Int) -> Double? { peak > 0 ? 20 * log10(Double(peak) / 32767) : nil }

    /// Uses alsa-lib's conversions, so that every card works.
    private static func open(_ device: String, _ direction: PCMHandle.Direction) throws -> PCMHandle {
        let name = device.hasPrefix("hw:") ? "plug" + device : device
        let handle: PCMHandle
        do throws(ALSAError) {
            handle = try PCMHandle(name, direction)
        } catch {
            throw CommandFailure("\(error)")
        }
        guard handle.format == .s16 else {
            throw CommandFailure("\(device): does not support 16-bit samples; put plug: in front")
        }
        return handle
    }

    private static func wait(_ handle: PCMHandle) throws {
        let result = snd_pcm_wait(handle.pcm, stuckMilliseconds)
        guard result != 0 else {
            throw CommandFailure("\(handle.device): the card is stuck: no progress for 2 s")
        }
        guard result > 0 else { throw CommandFailure("\(handle.device): snd_pcm_wait: \(text(result))") }
    }

    private static func text(_ result: Int32) -> String { String(cString: snd_strerror(result)) }
}
