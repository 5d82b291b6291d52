import CBTCall

/// Memory format of one sample, in native byte order.
package enum SampleFormat: Sendable, CaseIterable {
    /// Signed 16 bit: the format of the audio path.
    case s16
    /// Signed 24 bit in three bytes.
    case s24Packed
    /// Signed 24 bit in the lower three of four bytes.
    case s24
    /// Signed 32 bit.
    case s32
    /// 32 bit floating point, from -1 to 1.
    case f32

    package var bytes: Int {
        @_noLocks get {
            switch self {
            case .s16: 2
            case .s24Packed: 3
            case .s24, .s32, .f32: 4
            }
        }
    }
}

/// Memory layout of a stream's frames, with conversion to and from one channel of 16 bit.
///
/// Two channels are averaged; one is written to both. 16-bit values survive the round trip through every format unchanged.
package struct SampleLayout: Equatable, Sendable {
    package let format: SampleFormat
    /// 1 or 2, interleaved.
    package let channels: Int

    package init(_ format: SampleFormat = .s16, channels: Int = 1) {
        self.format = format
        self.channels = channels
    }

    package var frameBytes: Int {
        @_noLocks get { format.bytes &* channels }
    }

    /// One channel of 16 bit: no conversion needed.
    package var isPlain: Bool {
        @_noLocks get {
            if case .s16 = format { channels == 1 } else { false }
        }
    }

    /// Two channels of 16 bit: no conversion to pairs needed.
    package var isPairs: Bool {
        @_noLocks get {
            if case .s16 = format { channels == 2 } else { false }
        }
    }

    /// Reads `frames` frames from `stream`; the buffers must not overlap.
    ///
    /// - Parameter stream: aligned as its samples are.
    @_noLocks
    package func read(
        _ stream: UnsafeRawPointer, _ frames: Int, into samples: UnsafeMutablePointer<Int16>
    ) {
        if isPlain {
            if frames > 0 { btcall_move(samples, stream, frames &* 2) }
            return
        }
        var index = 0
        if channels == 1 {
            while index < frames {
                samples[index] = Int16(truncatingIfNeeded: sample(stream, index))
                index &+= 1
            }
            return
        }
        if case .s16 = format {
            let pairs = stream.assumingMemoryBound(to: Int16.self)
            while index < frames {
                let sum = Int32(pairs[2 &* index]) &+ Int32(pairs[2 &* index &+ 1])
                samples[index] = Int16(truncatingIfNeeded: sum >> 1)
                index &+= 1
            }
            return
        }
        while index < frames {
            let sum = sample(stream, 2 &* index) &+ sample(stream, 2 &* index &+ 1)
            samples[index] = Int16(truncatingIfNeeded: sum >> 1)
            index &+= 1
        }
    }

    /// Reads `frames` frames as pairs; a single channel is given to both sides.
    @_noLocks
    package func readPairs(
        _ stream: UnsafeRawPointer, _ frames: Int, into pairs: UnsafeMutablePointer<Int16>
    ) {
        if isPairs {
            if frames > 0 { btcall_move(pairs, stream, frames &* 4) }
            return
        }
        var index = 0
        if channels == 1 {
            while index < frames {
                let value = Int16(truncatingIfNeeded: sample(stream, index))
                pairs[2 &* index] = value
                pairs[2 &* index &+ 1] = value
                index &+= 1
            }
            return
        }
        while index < 2 &* frames {
            pairs[index] = Int16(truncatingIfNeeded: sample(stream, index))
            index &+= 1
        }
    }

    /// Writes `frames` frames to `stream`; the buffers must not overlap.
    ///
    /// - Parameter stream: room for `frames` × `frameBytes` bytes, aligned as its samples are.
    @_noLocks
    package func write(
        _ samples: UnsafePointer<Int16>, _ frames: Int, to stream: UnsafeMutableRawPointer
    ) {
        if isPlain {
            if frames > 0 { btcall_move(stream, samples, frames &* 2) }
            return
        }
        var index = 0
        if channels == 1 {
            while index < frames {
                set(Int32(samples[index]), stream, index)
                index &+= 1
            }
            return
        }
        if case .s16 = format {
            let pairs = stream.assumingMemoryBound(to: Int16.self)
            while index < frames {
                pairs[2 &* index] = samples[index]
                pairs[2 &* index &+ 1] = samples[index]
                index &+= 1
            }
            return
        }
        while index < frames {
            let value = Int32(samples[index])
            set(value, stream, 2 &* index)
            set(value, stream, 2 &* index &+ 1)
            index &+= 1
        }
    }

    /// Writes separate left and right channels; requires a layout with two channels.
    @_noLocks
    package func write(
        left: UnsafePointer<Int16>, right: UnsafePointer<Int16>, _ frames: Int, to stream: UnsafeMutableRawPointer
    ) {
        var index = 0
        while index < frames {
            set(Int32(left[index]), stream, 2 &* index)
            set(Int32(right[index]), stream, 2 &* index &+ 1)
            index &+= 1
        }
    }

    /// Reads one sample, rounded to 16 bit.
    @_noLocks @inline(__always)
    private func sample(_ stream: UnsafeRawPointer, _ index: Int) -> Int32 {
        switch format {
        case .s16:
            return Int32(stream.assumingMemoryBound(to: Int16.self)[index])
        case .s24Packed:
            let bytes = stream.assumingMemoryBound(to: UInt8.self) + 3 &* index
            let low = UInt32(bytes[0]) << 8 | UInt32(bytes[1]) << 16
            return Self.rounded(Int32(bitPattern: low | UInt32(bytes[2]) << 24))
        case .s24:
            return Self.rounded(stream.assumingMemoryBound(to: Int32.self)[index] << 8)
        case .s32:
            return Self.rounded(stream.assumingMemoryBound(to: Int32.self)[index])
        case .f32:
            let value = stream.assumingMemoryBound(to: Float.self)[index] * 32_768
            if value >= 32_767 { return 32_767 }
            if value <= -32_768 { return -32_768 }
            // NaN becomes silence.
            return value == value ? Int32(value + (value < 0 ? -0.5 : 0.5)) : 0
        }
    }

    @_noLocks @inline(__always)
    private func set(_ value: Int32, _ stream: UnsafeMutableRawPointer, _ index: Int) {
        switch format {
        case .s16:
            stream.assumingMemoryBound(to: Int16.self)[index] = Int16(truncatingIfNeeded: value)
        case .s24Packed:
            let bytes = stream.assumingMemoryBound(to: UInt8.self) + 3 &* index
            bytes[0] = 0
            bytes[1] = UInt8(truncatingIfNeeded: value)
            bytes[2] = UInt8(truncatingIfNeeded: value >> 8)
        case .s24:
            stream.assumingMemoryBound(to: Int32.self)[index] = value << 8
        case .s32:
            stream.assumingMemoryBound(to: Int32.self)[index] = value << 16
        case .f32:
            stream.assumingMemoryBound(to: Float.self)[index] = Float(value) / 32_768
        }
    }

    /// The upper half of a 32 bit sample, rounded.
    @_noLocks @inline(__always)
    private static func rounded(_ value: Int32) -> Int32 {
        let result = ((value >> 15) &+ 1) >> 1
        return result > 32_767 ? 32_767 : result
    }
}
