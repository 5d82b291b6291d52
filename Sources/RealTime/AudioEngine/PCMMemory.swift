package import AudioDSP
import CBTCall
import Glibc

/// Memory that one stream of the ALSA PCM shares with its client: a ring in sealed memory, and a pair of sockets that wakes
/// the client when the ring advances (pcm_protocol.h). Its contents are not trusted; sizes are taken from this object only.
package final class PCMMemory: @unchecked Sendable {
    /// Descriptors for the client, which receives copies.
    package let descriptor: Int32
    package let clientWakeDescriptor: Int32
    /// Used by the thread only, because its flags are its own.
    let wakeDescriptor: Int32
    /// Size of the memory, and offset of the samples.
    package let bytes: Int
    package static let samplesOffset = 4_096
    /// Sample rate in Hz: one of `AudioEngine.rates`.
    package let rate: Int
    package let layout: SampleLayout
    package let bufferFrames: Int
    /// How often the client is woken while it plays, in frames: 10 ms to half of the buffer.
    package let periodFrames: Int
    package let isCapture: Bool
    private let start: UnsafeMutableRawPointer

    /// Allocates and populates the memory, so that the thread never waits for a page fault.
    ///
    /// - Parameters:
    ///   - bufferFrames: at least 20 ms.
    ///   - periodFrames: the client's period, brought into range; nil for 10 ms.
    package init(
        rate: Int, layout: SampleLayout, bufferFrames: Int, periodFrames: Int? = nil, isCapture: Bool
    ) throws(AudioEngineError) {
        guard AudioEngine.rates.contains(rate), (1...2).contains(layout.channels), bufferFrames >= rate / 50 else {
            throw .unsupportedFormat(rate: rate, channels: layout.channels)
        }
        self.rate = rate
        self.layout = layout
        self.bufferFrames = bufferFrames
        self.periodFrames = min(max(periodFrames ?? 0, rate / 100), bufferFrames / 2)
        self.isCapture = isCapture
        bytes = Self.samplesOffset + bufferFrames * layout.frameBytes
        let memory = btcall_sealed_memory("btcall-pcm", bytes)
        guard memory >= 0 else { throw .failed(call: "memfd_create", code: errno) }
        var wake: [Int32] = [-1, -1]
        let paired = btcall_pcm_wake_pair(&wake)
        guard paired == 0 else {
            close(memory)
            throw .failed(call: "socketpair", code: -paired)
        }
        let mapped = mmap(nil, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, memory, 0)
        guard let mapped, mapped != MAP_FAILED else {
            let code = errno
            close(memory)
            close(wake[0])
            close(wake[1])
            throw .failed(call: "mmap", code: code)
        }
        descriptor = memory
        wakeDescriptor = wake[0]
        clientWakeDescriptor = wake[1]
        start = mapped
    }

    deinit {
        munmap(start, bytes)
        close(descriptor)
        close(wakeDescriptor)
        close(clientWakeDescriptor)
    }

    /// Audio that the client had not written in time while the thread was the clock, in milliseconds. The value lies in
    /// shared memory, so the client can falsify it.
    package var missingMilliseconds: UInt64 { btcall_pcm_missing(ring) / UInt64(rate / 100) * 10 }

    var ring: UnsafeMutablePointer<btcall_pcm_ring> { start.assumingMemoryBound(to: btcall_pcm_ring.self) }
    var samples: UnsafeMutableRawPointer { start + Self.samplesOffset }
}
