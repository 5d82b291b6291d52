import AudioDSP

/// Adds up what programs play on a stream at one sample rate, as stereo pairs, and converts the sum to the codec's rate.
struct StreamLane: ~Copyable {
    /// Sample rate of the programs in Hz.
    let rate: Int
    /// Frames in 10 ms.
    let blockFrames: Int
    /// What the programs have added. The first one writes its 10 ms here.
    let sum: UnsafeMutablePointer<Int16>
    private var converter: StereoResampler
    /// The rate is the codec's.
    private let isDirect: Bool
    private(set) var hasBlock = false
    /// The resampler's tail still has to follow the last block.
    private var hasRest = false

    init(rate: Int, to codecRate: Int) {
        self.rate = rate
        blockFrames = rate / 100
        sum = .allocate(capacity: 2 * blockFrames)
        sum.initialize(repeating: 0, count: 2 * blockFrames)
        converter = StereoResampler(from: rate, to: codecRate)
        isDirect = rate == codecRate
    }

    deinit { sum.deallocate() }

    /// Has nothing to play and nothing to follow it with.
    var isIdle: Bool { @_noLocks get { !hasBlock && (!hasRest || isDirect) } }

    /// Adds 10 ms of one program: `pairs`, or with the first one what `sum` holds already.
    @_noLocks
    mutating func add(_ pairs: UnsafePointer<Int16>) {
        if hasBlock { Mixer.add(pairs, 2 * blockFrames, to: sum) }
        hasBlock = true
    }

    /// Discards added audio.
    @_noLocks
    mutating func reset() {
        hasBlock = false
        hasRest = false
        converter.reset()
    }

    /// Produces 10 ms of the added audio, `frames` at the codec's rate. Returns where they are: in `pairs` if they had to be
    /// converted, otherwise where they were added, until the next call. Nil when they are silent.
    @_noLocks
    mutating func takeBlock(_ pairs: UnsafeMutablePointer<Int16>, _ frames: Int) -> UnsafeMutablePointer<Int16>? {
        if !hasBlock {
            if !hasRest { return nil }
            Mixer.clear(sum, 2 * blockFrames)
        }
        hasRest = hasBlock
        hasBlock = false
        if isDirect { return sum }
        let made = converter.process(sum, blockFrames, pairs, frames)
        if made < frames { Mixer.clear(pairs + 2 * made, 2 * (frames - made)) }
        if !hasRest { converter.reset() }
        return pairs
    }
}
