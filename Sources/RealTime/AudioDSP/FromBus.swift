/// Converts audio of the bus, whose rate may change between two blocks of 10 ms, to one rate.
///
/// The converter of a new rate is filled with the last block of the old one, and its first block begins where the old
/// converter ended (``RateJoint``): nothing is lost or repeated.
package struct FromBus: ~Copyable {
    private let bus: BusRates
    /// A converter for each rate of the bus.
    /// Used by `pointee`: of a subscript, Swift 6.3 makes invalid code for the thread sanitizer.
    private let converters: UnsafeMutablePointer<Resampler>
    private var present = 0
    private var joint: RateJoint

    /// - Parameter to: sample rate of the output in Hz.
    package init(to rate: Int, bus: BusRates) {
        self.bus = bus
        converters = .allocate(capacity: bus.count)
        for index in 0..<bus.count {
            (converters + index).initialize(to: Resampler(from: bus.rate(index), to: rate))
        }
        // 10 ms at either rate.
        joint = RateJoint(capacity: bus.count > 1 ? max(bus.highest, rate) / 100 : 0)
    }

    deinit { converters.deinitialize(count: bus.count).deallocate() }

    /// Delay of the output, in frames of its rate.
    package var delayFrames: Int { @_noLocks get { (converters + present).pointee.delayFrames } }

    /// As `Resampler.process`.
    @_noLocks
    package mutating func process(
        _ input: UnsafePointer<Int16>, _ inputFrames: Int, _ output: UnsafeMutablePointer<Int16>, _ outputCapacity: Int,
        isDoubled: Bool = false
    ) -> (used: Int, made: Int) {
        if joint.isPending { fill(before: input, inputFrames) }
        let converter = converters + present
        let result = converter.pointee.process(input, inputFrames, output, outputCapacity, isDoubled: isDoubled)
        if joint.isPending { joint.join(output, result.made) }
        return result
    }

    /// Gives a new converter its past.
    @_noLocks
    private mutating func fill(before input: UnsafePointer<Int16>, _ inputFrames: Int) {
        let frames = joint.pastFrames(before: input, inputFrames)
        let made = (converters + present).pointee.process(joint.past, frames, joint.room, joint.capacity).made
        joint.note(made)
    }

    /// Discards all input.
    @_noLocks
    package mutating func reset() {
        (converters + present).pointee.reset()
        joint.forget()
    }

    /// Sets the rate of the bus for an output that nobody hears yet.
    @_noLocks
    package mutating func set(_ index: Int) {
        present = bus.bounded(index)
        reset()
    }

    /// Continues at another rate of the bus.
    ///
    /// - Parameters:
    ///   - last: the latest block that this got.
    ///   - frames: of that, 10 ms at the old rate.
    @_noLocks
    package mutating func change(to index: Int, after last: UnsafePointer<Int16>, _ frames: Int) {
        let next = bus.bounded(index)
        if next == present { return }
        let shift = (converters + present).pointee.delayFrames &- (converters + next).pointee.delayFrames
        present = next
        reset()
        joint.keep(last, frames)
        joint.begin(shift: shift)
    }
}
