import CBTCall
import Glibc
import Synchronization

/// Converts audio between two rates whose ratio drifts, because two clocks do (docs/inside/Audio.md).
///
/// The ratio can change with every block, by up to 1000 ppm around the nominal one, without a step in the audio. Without
/// drift, whole 10 ms blocks give whole 10 ms blocks from the first call on. The delay is 24 frames of the lower rate (16 at
/// 8 kHz), at most 2 ms.
package struct AdaptiveResampler: ~Copyable {
    /// Limit of the drift in both directions, in parts per million.
    package static var maximumDriftPPM: Double { @_noLocks get { 1000 } }
    /// Input frames converted at once.
    private static let chunkFrames = 512
    /// Filters per frame of the lower rate; interpolates between adjacent filters.
    private static let phasesPerFrame = 256

    /// Delay of the output, in frames of its rate.
    package let delayFrames: Int
    package private(set) var driftPPM: Double = 0

    private let taps: Int
    private let phases: Int
    /// `phases` + 1 filters of `taps` values; kept for the next resampler of the same rates.
    private let filters: UnsafePointer<Float>
    /// Input around the present position, the latest last.
    private let line: UnsafeMutablePointer<Float>
    private var fill: Int
    /// Position of the next output in `line`, and its fraction in `unit`ths of an input frame.
    private var position = 0
    private var fraction = 0
    private let unit: Int
    /// Input frames per output frame without drift, in `unit`ths.
    private let nominalStep: Int
    private var stepFrames: Int
    private var stepFraction: Int
    private let phasePerFraction: Float

    /// - Parameters:
    ///   - from: nominal sample rate of the input in Hz, 8000 to 48000.
    ///   - to: nominal sample rate of the output in Hz.
    package init(from: Int, to: Int) {
        precondition(from > 0 && to > 0, "rates are positive")
        let lower = min(from, to)
        let reach = lower >= 12_000 ? 24 : 16
        let half = (reach * from + lower - 1) / lower
        taps = 2 * half
        phases = max(16, (Self.phasesPerFrame * lower + from - 1) / from)
        delayFrames = (half * to + from / 2) / from
        filters = Self.filters(from: from, to: to, half: half, phases: phases, reach: reach)
        line = UnsafeMutablePointer<Float>.allocate(capacity: taps + Self.chunkFrames)
        line.initialize(repeating: 0, count: taps + Self.chunkFrames)
        fill = taps - 1
        unit = to << 20
        nominalStep = from << 20
        stepFrames = nominalStep / unit
        stepFraction = nominalStep % unit
        phasePerFraction = Float(phases) / Float(unit)
    }

    /// Prepares the filters for a pair of rates, so that `init` is quick.
    package static func prepare(from: Int, to: Int) { _ = AdaptiveResampler(from: from, to: to) }

    deinit {
        line.deallocate()
    }

    /// Produces `ppm` parts per million more output than nominal (less, if negative) from the next frame on.
    @_noLocks
    package mutating func setDrift(ppm: Double) {
        // NaN means no drift.
        var bounded = ppm == ppm ? ppm : 0
        if bounded > Self.maximumDriftPPM { bounded = Self.maximumDriftPPM }
        if bounded < -Self.maximumDriftPPM { bounded = -Self.maximumDriftPPM }
        driftPPM = bounded
        let step = bounded == 0 ? nominalStep : Int(Double(nominalStep) / (1 + bounded * 1e-6))
        stepFrames = step / unit
        stepFraction = step &- stepFrames &* unit
    }

    /// Converts up to `inputFrames` frames to up to `outputCapacity` frames; returns how many it consumed and produced.
    ///
    /// With room for `inputFrames` × nominal ratio × 1.001 + 1 frames it consumes all. The buffers must not overlap.
    @_noLocks
    package mutating func process(
        _ input: UnsafePointer<Int16>, _ inputFrames: Int, _ output: UnsafeMutablePointer<Int16>, _ outputCapacity: Int
    ) -> (used: Int, made: Int) {
        var used = 0
        var made = 0
        while true {
            // Up to the end of the line.
            while position &+ taps <= fill && made < outputCapacity {
                output[made] = next()
                made &+= 1
            }
            if used >= inputFrames || (made == outputCapacity && position &+ taps <= fill) { return (used, made) }
            // Make room at the end of the line for the next piece.
            let gone = position < fill ? position : fill
            btcall_move(line, line + gone, (fill &- gone) &* MemoryLayout<Float>.stride)
            fill &-= gone
            position &-= gone
            // Consume no more than the output needs: the rest stays with the caller.
            var piece = inputFrames &- used
            if piece > Self.chunkFrames { piece = Self.chunkFrames }
            if made == outputCapacity {
                let skipped = position &+ taps &- 1 &- fill
                if skipped <= 0 { return (used, made) }
                if piece > skipped { piece = skipped }
            } else {
                let last = (outputCapacity &- made &- 1) &* (stepFrames &* unit &+ stepFraction) &+ fraction
                let wanted = position &+ taps &+ last / unit &- fill
                if piece > wanted { piece = wanted }
            }
            var index = 0
            while index < piece {
                line[fill &+ index] = Float(input[used &+ index])
                index &+= 1
            }
            fill &+= piece
            used &+= piece
        }
    }

    /// Discards all input; keeps the drift.
    @_noLocks
    package mutating func reset() {
        fill = taps &- 1
        position = 0
        fraction = 0
        var index = 0
        while index < fill {
            line[index] = 0
            index &+= 1
        }
    }

    @_noLocks
    private mutating func next() -> Int16 {
        let place = Float(fraction) * phasePerFraction
        var phase = Int(place)
        if phase >= phases { phase = phases &- 1 }
        let low = filters + phase &* taps
        let value = btcall_interpolated_product(line + position, low, low + taps, taps, place - Float(phase))
        position &+= stepFrames
        fraction &+= stepFraction
        if fraction >= unit {
            fraction &-= unit
            position &+= 1
        }
        if value >= 32_767 { return 32_767 }
        if value <= -32_768 { return -32_768 }
        return Int16(value + (value < 0 ? -0.5 : 0.5))
    }

    private struct Shape: Hashable {
        let half: Int
        let phases: Int
        let reach: Int
        let bandwidth: Double
    }

    /// Filters of each shape used so far, 50 kB each: without fast floating point a processor needs 50 ms and more to compute
    /// them, and a card is opened while somebody waits to hear something. From 16, 32 and 48 kHz to 48 kHz they are the same.
    private static let kept = Mutex<[Shape: FilterBank]>([:])

    private struct FilterBank: @unchecked Sendable {
        /// Never written after creation.
        let values: UnsafePointer<Float>
    }

    private static func filters(from: Int, to: Int, half: Int, phases: Int, reach: Int) -> UnsafePointer<Float> {
        kept.withLock { kept in
            let bandwidth = Double(min(from, to)) / Double(from)
            let shape = Shape(half: half, phases: phases, reach: reach, bandwidth: bandwidth)
            if let bank = kept[shape] { return bank }
            let made = makeFilters(half: half, phases: phases, bandwidth: bandwidth, reach: reach)
            let bank = FilterBank(values: UnsafePointer(made))
            kept[shape] = bank
            return bank
        }.values
    }

    /// Makes a low pass (sinc under a Kaiser window), split into one filter for each position between two input frames.
    ///
    /// - Parameters:
    ///   - half: input frames on each side.
    ///   - bandwidth: 1, or less when the output's rate is lower.
    ///   - reach: frames of the lower rate on each side.
    private static func makeFilters(
        half: Int, phases: Int, bandwidth: Double, reach: Int
    ) -> UnsafeMutablePointer<Float> {
        let beta = 8.2
        // At 8 kHz 3400 Hz has to pass; aliases stay above 3600 Hz instead.
        let cutoff = reach == 24 ? 0.92 : 0.95
        let taps = 2 * half
        let filters = UnsafeMutablePointer<Float>.allocate(capacity: (phases + 1) * taps)
        for phase in 0...phases {
            var sum = 0.0
            let values = filters + phase * taps
            for tap in 0..<taps {
                let distance = (Double(tap - half + 1) - Double(phase) / Double(phases)) * bandwidth
                let value = sinc(distance * cutoff) * kaiser(distance / Double(reach), beta: beta)
                (values + tap).initialize(to: Float(value))
                sum += value
            }
            // Each filter has unity gain at 0 Hz: no ripple at the rate of the phases.
            for tap in 0..<taps { values[tap] = Float(Double(values[tap]) / sum) }
        }
        return filters
    }

    private static func sinc(_ value: Double) -> Double {
        value.magnitude < 1e-9 ? 1 : sin(.pi * value) / (.pi * value)
    }

    private static func kaiser(_ value: Double, beta: Double) -> Double {
        value.magnitude >= 1 ? 0 : bessel(beta * (1 - value * value).squareRoot()) / bessel(beta)
    }

    /// Modified Bessel function of the first kind, order 0.
    private static func bessel(_ value: Double) -> Double {
        var sum = 1.0
        var term = 1.0
        var index = 1.0
        while term > sum * 1e-15 {
            term *= (value / (2 * index)) * (value / (2 * index))
            sum += term
            index += 1
        }
        return sum
    }
}
