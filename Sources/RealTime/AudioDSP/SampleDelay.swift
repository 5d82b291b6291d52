/// A delay line of floating point samples.
struct SampleDelay: ~Copyable {
    private let storage: UnsafeMutablePointer<Float>
    private let mask: Int
    private var position = 0
    /// Frames.
    private(set) var delay: Int

    /// - Parameters:
    ///   - delay: frames, 0 to `maximum`.
    ///   - maximum: frames that it can be set to.
    init(_ delay: Int, maximum: Int? = nil) {
        let maximum = max(delay, maximum ?? delay)
        var size = 1
        while size <= maximum { size *= 2 }
        mask = size - 1
        self.delay = max(0, delay)
        storage = .allocate(capacity: size)
        storage.initialize(repeating: 0, count: size)
    }

    deinit { storage.deallocate() }

    /// Writes what went in `delay` frames before to `output`, which may be `input`.
    @_noLocks
    mutating func process(
        _ input: UnsafePointer<Float>, into output: UnsafeMutablePointer<Float>, _ frames: Int
    ) {
        var index = 0
        while index < frames {
            storage[position & mask] = input[index]
            output[index] = storage[(position &- delay) & mask]
            position &+= 1
            index &+= 1
        }
    }

    /// Another delay from here on, at most the maximum; what is in the line stays.
    @_noLocks
    mutating func set(_ frames: Int) {
        delay = frames < 0 ? 0 : (frames > mask ? mask : frames)
    }
}

/// A weight between 0 and 1 that moves in a straight line, 20 ms from end to end, so that nothing is heard of a switch.
struct Weight: Sendable {
    private let slope: Float
    private(set) var value: Float
    private var target: Float

    init(rate: Int, isOn: Bool) {
        slope = 50 / Float(max(rate, 1))
        value = isOn ? 1 : 0
        target = value
    }

    var isOff: Bool {
        @_noLocks get { value == 0 && target == 0 }
    }

    @_noLocks
    mutating func set(_ isOn: Bool) { target = isOn ? 1 : 0 }

    /// Blends from `off` to `on` into `output`, which may be one of them.
    @_noLocks
    mutating func blend(
        _ off: UnsafePointer<Float>, _ on: UnsafePointer<Float>, into output: UnsafeMutablePointer<Float>, _ frames: Int
    ) {
        var index = 0
        while index < frames {
            if value < target {
                value = value + slope < target ? value + slope : target
            } else if value > target {
                value = value - slope > target ? value - slope : target
            }
            // The ends exactly, so that what passes is not rounded.
            if value == 0 {
                output[index] = off[index]
            } else if value == 1 {
                output[index] = on[index]
            } else {
                output[index] = off[index] + value * (on[index] - off[index])
            }
            index &+= 1
        }
    }
}
