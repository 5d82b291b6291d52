/// Delay line of floating point samples.
struct SampleDelay: ~Copyable {
    private let storage: UnsafeMutablePointer<Float>
    private let mask: Int
    private var position = 0
    /// In frames.
    private(set) var delay: Int

    /// - Parameters:
    ///   - delay: frames, 0 to `maximum`.
    ///   - maximum: largest delay that can be set, in frames.
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

    /// Writes the input of `delay` frames ago to `output`, which may be `input`.
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

    /// Changes the delay from here on, at most to the maximum; keeps the line's content.
    @_noLocks
    mutating func set(_ frames: Int) {
        delay = frames < 0 ? 0 : (frames > mask ? mask : frames)
    }
}

/// Weight between 0 and 1 that changes linearly, 20 ms from end to end, so that a switch is inaudible.
struct Weight: Sendable {
    private var slope: Float
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

    /// Sets the sample rate from the next frame on.
    @_noLocks
    mutating func setRate(_ rate: Int) { slope = 50 / Float(rate > 0 ? rate : 1) }

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
            // Exact at both ends, so that audio passes without rounding.
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
