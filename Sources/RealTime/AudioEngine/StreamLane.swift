import AudioDSP
import CBTCall

/// Adds up what programs play on a stream at one sample rate, as stereo pairs, and converts the sum to the codec's rate.
struct StreamLane: ~Copyable {
    /// Sample rate of the programs in Hz.
    let rate: Int
    /// Frames in 10 ms.
    let blockFrames: Int
    private let sum: UnsafeMutablePointer<Int16>
    private var converter: StereoResampler
    private var hasBlock = false
    /// The resampler's tail still has to follow the last block.
    private var hasRest = false

    init(rate: Int, to codecRate: Int) {
        self.rate = rate
        blockFrames = rate / 100
        sum = .allocate(capacity: 2 * blockFrames)
        sum.initialize(repeating: 0, count: 2 * blockFrames)
        converter = StereoResampler(from: rate, to: codecRate)
    }

    deinit { sum.deallocate() }

    /// Adds 10 ms of one program.
    @_noLocks
    mutating func add(_ pairs: UnsafePointer<Int16>) {
        if hasBlock {
            Mixer.add(pairs, 2 * blockFrames, to: sum)
        } else {
            btcall_move(sum, pairs, 4 * blockFrames)
        }
        hasBlock = true
    }

    /// Discards added audio.
    @_noLocks
    mutating func reset() {
        hasBlock = false
        hasRest = false
        converter.reset()
    }

    /// Produces 10 ms of the added audio, `frames` at the codec's rate; false when it is silent.
    @_noLocks
    mutating func takeBlock(_ pairs: UnsafeMutablePointer<Int16>, _ frames: Int) -> Bool {
        if !hasBlock {
            if !hasRest { return false }
            Mixer.clear(sum, 2 * blockFrames)
        }
        hasRest = hasBlock
        hasBlock = false
        let made = converter.process(sum, blockFrames, pairs, frames)
        if made < frames { Mixer.clear(pairs + 2 * made, 2 * (frames - made)) }
        if !hasRest { converter.reset() }
        return true
    }
}
