import Glibc

/// Tone of one or two frequencies with a cadence, like those of telephone networks (ITU-T E.180).
package struct ToneSpecification: Hashable, Sendable {
    /// At most two sines of equal strength, in Hz.
    package var frequencies: [Int]
    /// Milliseconds on, off, on, off …, repeated; empty for a continuous tone.
    package var cadence: [Int]
    /// Largest sample of the sum; 1 is full scale.
    package var peak: Double

    package init(_ frequencies: [Int], cadence: [Int] = [], peak: Double = 0.15) {
        self.frequencies = frequencies
        self.cadence = cadence
        self.peak = peak
    }
}

/// Generates a tone: each on period starts with the same phase, and rises over 5 ms to avoid a click.
package struct ToneGenerator: ~Copyable {
    /// Frames of each step; even steps are on, odd ones off.
    private let steps: UnsafeMutablePointer<Int>
    private let stepCount: Int
    private var rampFrames: Int
    private let amplitude: Double
    private let isDouble: Bool
    private let bus: BusRates
    /// Sample rate in Hz.
    private var rate: Int
    /// Rotations per frame of the two frequencies, at each rate of the bus.
    private let turns: UnsafeMutablePointer<Turn>
    /// Rotation per frame and present position on the circle, for each frequency.
    private var turn: Turn
    private var otherTurn: Turn
    private var point: (cosine: Double, sine: Double) = (1, 0)
    private var otherPoint: (cosine: Double, sine: Double) = (1, 0)
    private var step = 0
    /// Frames done in the step.
    private var position = 0

    private typealias Turn = (cosine: Double, sine: Double)

    /// - Parameter rate: in Hz.
    package init(_ specification: ToneSpecification, rate: Int) { self.init(specification, bus: BusRates(rate)) }

    /// Begins at the lowest rate of the bus.
    package init(_ specification: ToneSpecification, bus: BusRates) {
        self.bus = bus
        let rate = bus.lowest
        self.rate = rate
        let cadence = specification.cadence
        // A cadence that ends with a tone repeats without a pause.
        stepCount = cadence.isEmpty ? 1 : cadence.count
        steps = .allocate(capacity: stepCount)
        steps.initialize(repeating: Int.max, count: stepCount)
        for (index, milliseconds) in cadence.enumerated() { steps[index] = max(1, rate * milliseconds / 1_000) }
        rampFrames = max(1, rate / 200)
        let frequencies = specification.frequencies
        isDouble = frequencies.count > 1
        let peak = min(max(specification.peak, 0), 1) * 32_767
        amplitude = frequencies.isEmpty ? 0 : isDouble ? peak / 2 : peak
        func turn(_ index: Int, _ rate: Int) -> Turn {
            guard index < frequencies.count else { return (1, 0) }
            let angle = 2 * Double.pi * Double(frequencies[index]) / Double(max(rate, 1))
            return (cos(angle), sin(angle))
        }
        turns = .allocate(capacity: 2 * bus.count)
        turns.initialize(repeating: (1, 0), count: 2 * bus.count)
        for index in 0..<bus.count {
            turns[2 * index] = turn(0, bus.rate(index))
            turns[2 * index + 1] = turn(1, bus.rate(index))
        }
        self.turn = turns[0]
        otherTurn = turns[1]
    }

    deinit {
        steps.deallocate()
        turns.deallocate()
    }

    /// Continues at another rate of the bus: the tone keeps its pitch, its phase and its cadence.
    @_noLocks
    package mutating func setBus(_ index: Int) {
        let index = bus.bounded(index)
        let next = bus.rate(index)
        if next == rate { return }
        var each = 0
        while each < stepCount {
            if steps[each] != Int.max { steps[each] = steps[each] &* next / rate }
            each &+= 1
        }
        position = position &* next / rate
        rampFrames = next / 200 > 1 ? next / 200 : 1
        turn = turns[2 &* index]
        otherTurn = turns[2 &* index &+ 1]
        rate = next
    }

    /// Overwrites `frames` frames.
    @_noLocks
    package mutating func fill(_ output: UnsafeMutablePointer<Int16>, _ frames: Int) {
        var index = 0
        while index < frames {
            if position >= steps[step] {
                position = 0
                step &+= 1
                if step == stepCount { step = 0 }
                point = (1, 0)
                otherPoint = (1, 0)
            }
            output[index] = step & 1 == 0 ? next() : 0
            position &+= 1
            index &+= 1
        }
    }

    @_noLocks
    private mutating func next() -> Int16 {
        var value = point.sine
        point = (
            point.cosine * turn.cosine - point.sine * turn.sine, point.sine * turn.cosine + point.cosine * turn.sine
        )
        if isDouble {
            value += otherPoint.sine
            otherPoint = (
                otherPoint.cosine * otherTurn.cosine - otherPoint.sine * otherTurn.sine,
                otherPoint.sine * otherTurn.cosine + otherPoint.cosine * otherTurn.sine
            )
        }
        let scaled = value * amplitude * envelope()
        return Int16(scaled + (scaled < 0 ? -0.5 : 0.5))
    }

    /// Smooth rise and fall at the ends of the step.
    @_noLocks
    private func envelope() -> Double {
        let left = steps[step] &- position
        let near = position < left ? position : left
        if near >= rampFrames { return 1 }
        let part = Double(near) / Double(rampFrames)
        return part * part * (3 - 2 * part)
    }
}
