package import AudioDSP
import CBTCall

/// Runs the thread's work for a program on the ALSA PCM without the thread, for measurements.
package struct PCMExchange: ~Copyable {
    private let memories: (playback: PCMMemory, capture: PCMMemory)
    private var player: PCMPort
    private var recorder: PCMPort
    private let blockFrames: UInt64

    /// - Parameter rate: one of `AudioEngine.rates`, in Hz.
    package init(rate: Int, layout: SampleLayout, busRate: Int) throws(AudioEngineError) {
        let playback = try PCMMemory(rate: rate, layout: layout, bufferFrames: rate / 10, isCapture: false)
        let capture = try PCMMemory(rate: rate, layout: layout, bufferFrames: rate / 10, isCapture: true)
        memories = (playback, capture)
        player = PCMPort(id: 0, playback, bus: BusRates(busRate))
        recorder = PCMPort(id: 1, capture, bus: BusRates(busRate))
        blockFrames = UInt64(rate / 100)
    }

    /// Exchanges 10 ms in both directions, as `frames` of the bus.
    package mutating func pass(
        _ uplink: UnsafePointer<Int16>, _ downlink: UnsafeMutablePointer<Int16>, _ frames: Int
    ) {
        memories.playback.ring.pointee.application &+= blockFrames
        _ = player.takeBlock(downlink, frames)
        recorder.giveBlock(uplink, frames)
    }
}
