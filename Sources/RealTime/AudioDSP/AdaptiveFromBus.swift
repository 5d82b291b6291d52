/// Converts audio of the bus to the rate of a card, whose clock drifts: as ``FromBus``, with an ``AdaptiveResampler`` for each
/// rate of the bus.
package struct AdaptiveFromBus: ~Copyable {
    private let bus: BusRates
    /// A converter for each rate of the bus.
    /// Used by `pointee`: of a subscript, Swift 6.3 makes invalid code for the thread sanitizer.
    private let converters: UnsafeMutablePointer<AdaptiveResampler>
    private var present = 0
    private var joint: RateJoint

    /// - Parameter to: nominal sample rate of the output in Hz.
    package init(to rate: Int, bus: BusRates) {
        self.bus = bus
        converters = .allocate(capacity: bus.count)
        for index in 0..<bus.count {
            (converters + index).initialize(to: AdaptiveResampler(from: bus.rate(index), to: rate))
        }
        // 10 ms at either rate, and what drift adds.
        joint = RateJoint(capacity: bus.count > 1 ? max(bus.highest, rate) / 100 + 8 : 0)
    }

    deinit { converters.deinitialize(count: bus.count).deallocate() }

    /// Present rate of the bus in Hz.
    package var busRate: Int { @_noLocks get { bus.rate(present) } }

    /// As `AdaptiveResampler.setDrift`.
    @_noLocks
    package mutating func setDrift(ppm: Double) { (converters + present).pointee.setDrift(ppm: ppm) }

    /// Converts a block of at most 10 ms, all of it if there is room; returns how many frames it made.
    @_noLocks
    package mutating func process(
        _ input: UnsafePointer<Int16>, _ inputFrames: Int, _ output: UnsafeMutablePointer<Int16>, _ outputCapacity: Int
    ) -> Int {
        if joint.isPending {
            let past = joint.pastFrames(before: input, inputFrames)
            let before = (converters + present).pointee.process(joint.past, past, joint.room, joint.capacity).made
            joint.note(before)
        }
        let made = (converters + present).pointee.process(input, inputFrames, output, outputCapacity).made
        if joint.isPending { joint.join(output, made) }
        return made
    }

    /// Discards all input; keeps the drift.
    @_noLocks
    package mutating func reset() {
        (converters + present).pointee.reset()
        joint.forget()
    }

    /// Sets the rate of the bus for an output that nobody hears; keeps the drift.
    @_noLocks
    package mutating func set(_ index: Int) {
        let ppm = (converters + present).pointee.driftPPM
        present = bus.bounded(index)
        (converters + present).pointee.setDrift(ppm: ppm)
        reset()
    }

    /// Continues at another rate of the bus.
    ///
    /// - Parameter last: the latest block that this got, of `frames` frames, 10 ms at the old rate.
    @_noLocks
    package mutating func change(to index: Int, after last: UnsafePointer<Int16>, _ frames: Int) {
        if bus.bounded(index) == present { return }
        let delay = (converters + present).pointee.delayFrames
        set(index)
        joint.keep(last, frames)
        joint.begin(shift: delay &- (converters + present).pointee.delayFrames)
    }
}
