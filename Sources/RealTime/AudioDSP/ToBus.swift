/// Converts the audio of a source to the rate of the bus, which may change between two blocks of 10 ms.
///
/// Before a change the converter of the coming rate runs along, so that it is full when it takes over. Its first block begins
/// where the old one ended (``RateJoint``): nothing is lost or repeated, and no step is heard.
package struct ToBus: ~Copyable {
    private let bus: BusRates
    /// A converter for each rate of the bus.
    /// Used by `pointee`: of a subscript, Swift 6.3 makes invalid code for the thread sanitizer.
    private let converters: UnsafeMutablePointer<Resampler>
    private var present = 0
    /// Index of the coming rate, whose converter runs along; -1 for none.
    private var coming = -1
    private var joint: RateJoint

    /// - Parameter from: sample rate of the source in Hz.
    package init(from rate: Int, bus: BusRates) {
        self.bus = bus
        converters = .allocate(capacity: bus.count)
        for index in 0..<bus.count {
            (converters + index).initialize(to: Resampler(from: rate, to: bus.rate(index)))
        }
        joint = RateJoint(capacity: bus.count > 1 ? bus.highest / 100 : 0)
    }

    deinit { converters.deinitialize(count: bus.count).deallocate() }

    /// Present rate of the bus in Hz.
    package var busRate: Int { @_noLocks get { bus.rate(present) } }

    /// The output is doubled audio (see ``Resampler``).
    package var doubles: Bool { @_noLocks get { (converters + present).pointee.doubles } }

    /// Delay of the output, in frames of the bus.
    package var delayFrames: Int { @_noLocks get { (converters + present).pointee.delayFrames } }

    /// The converter of another rate is to run along.
    package var isPreparing: Bool { @_noLocks get { coming >= 0 } }

    /// Frames of the coming rate by which the present converter is later than the one that runs along.
    package var comingShift: Int {
        @_noLocks get {
            if coming < 0 { return 0 }
            let delay = (converters + present).pointee.delayFrames &* bus.rate(coming) / bus.rate(present)
            return delay &- (converters + coming).pointee.delayFrames
        }
    }

    /// Converts a block of at most 10 ms; as `Resampler.process`.
    @_noLocks
    package mutating func process(
        _ input: UnsafePointer<Int16>, _ inputFrames: Int, _ output: UnsafeMutablePointer<Int16>, _ outputCapacity: Int
    ) -> (used: Int, made: Int) {
        let result = (converters + present).pointee.process(input, inputFrames, output, outputCapacity)
        if coming >= 0 {
            let made = (converters + coming).pointee.process(input, inputFrames, joint.room, joint.capacity).made
            joint.note(made)
        }
        if joint.isPending { joint.join(output, result.made) }
        return result
    }

    /// Converts any number of frames, whose owner joins the audio itself, by `convertComing`.
    @_noLocks
    package mutating func convert(
        _ input: UnsafePointer<Int16>, _ inputFrames: Int, _ output: UnsafeMutablePointer<Int16>, _ outputCapacity: Int
    ) -> Int {
        (converters + present).pointee.process(input, inputFrames, output, outputCapacity).made
    }

    /// Converts the same frames to the coming rate; returns how many it made.
    @_noLocks
    package mutating func convertComing(
        _ input: UnsafePointer<Int16>, _ inputFrames: Int, _ output: UnsafeMutablePointer<Int16>, _ outputCapacity: Int
    ) -> Int {
        if coming < 0 { return 0 }
        return (converters + coming).pointee.process(input, inputFrames, output, outputCapacity).made
    }

    /// Discards all input.
    @_noLocks
    package mutating func reset() {
        (converters + present).pointee.reset()
        if coming >= 0 { (converters + coming).pointee.reset() }
        joint.forget()
    }

    /// Sets the rate of the bus for a source that is not heard yet.
    @_noLocks
    package mutating func set(_ index: Int) {
        present = bus.bounded(index)
        coming = -1
        reset()
    }

    /// Lets the converter of another rate run along; a negative index ends that.
    @_noLocks
    package mutating func prepare(_ index: Int) {
        coming = index < 0 ? -1 : bus.bounded(index)
        if coming == present { coming = -1 }
        if coming < 0 { return }
        (converters + coming).pointee.reset()
        joint.forget()
    }

    /// Continues with the converter that ran along, or with a new one if none did.
    @_noLocks
    package mutating func change(to index: Int) {
        let next = bus.bounded(index)
        if next == present { return }
        if next != coming {
            set(index)
            return
        }
        joint.begin(shift: comingShift)
        present = next
        coming = -1
    }
}
