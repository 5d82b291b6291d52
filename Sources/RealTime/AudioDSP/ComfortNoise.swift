import CBTCall
import Glibc

/// Quiet, dull noise for times without audio, so that a line does not sound dead: as loud as the room once it has been
/// learnt. The same seed gives the same noise.
package struct ComfortNoise: Sendable {
    private var amplitude: Float
    /// Amplitude for an RMS of 1.
    private var amplitudePerUnit: Float
    /// RMS of the noise, and the limits of learning, -80 and -45 dB.
    private var effective: Float
    private static let quietest: Float = 3.3
    private static let loudest: Float = 184
    private var keep: Float
    private var colour: Float = 0
    private var state: UInt32

    /// - Parameters:
    ///   - rate: in Hz.
    ///   - levelDecibels: RMS below full scale, -90 to 0.
    ///   - seed: any number.
    package init(rate: Int, levelDecibels: Float = -70, seed: UInt32 = 0x2545_F491) {
        // One pole at 1 kHz.
        let pole = exp(-2 * Float.pi * 1000 / Float(max(rate, 1)))
        keep = pole
        state = seed == 0 ? 1 : seed
        effective = 32_768 * pow(10, min(max(levelDecibels, -90), 0) / 20)
        // White noise, uniform in ±1, has a variance of 1/3; the pole passes (1 - p) / (1 + p) of it.
        amplitudePerUnit = (3 * (1 + pole) / (1 - pole)).squareRoot() * (1 - pole)
        amplitude = effective * amplitudePerUnit
    }

    /// Sets the sample rate from the next frame on; the noise sounds as before.
    ///
    /// - Parameter rate: in Hz.
    @_noLocks
    package mutating func setRate(_ rate: Int) {
        let pole = btcall_exponential(-6_283.1853 / Float(rate > 0 ? rate : 1))
        keep = pole
        amplitudePerUnit = btcall_square_root(3 * (1 + pole) / (1 - pole)) * (1 - pole)
        amplitude = effective * amplitudePerUnit
    }

    /// Learns the room's loudness from a block of the microphone: from the quiet between words, not the words.
    ///
    /// Follows down within 100 ms and up by a fifth a second; ignores digital silence.
    @_noLocks
    package mutating func follow(_ samples: UnsafePointer<Int16>, _ frames: Int) {
        // Integers, which the compiler may add up in any order: as vectors.
        var energy: Int64 = 0
        var index = 0
        while index < frames {
            let value = Int32(samples[index])
            energy &+= Int64(value &* value)
            index &+= 1
        }
        if energy == 0 || frames <= 0 { return }
        let level = btcall_square_root(Float(energy) / Float(frames))
        var next = effective * 1.002
        if level < next { next = effective + (level - effective) * 0.2 }
        if next < Self.quietest { next = Self.quietest }
        if next > Self.loudest { next = Self.loudest }
        effective = next
        amplitude = next * amplitudePerUnit
    }

    /// Overwrites `frames` frames.
    @_noLocks
    package mutating func fill(_ samples: UnsafeMutablePointer<Int16>, _ frames: Int) {
        var index = 0
        while index < frames {
            samples[index] = next(onTopOf: 0)
            index &+= 1
        }
    }

    /// Adds the noise to `frames` frames.
    @_noLocks
    package mutating func add(_ samples: UnsafeMutablePointer<Int16>, _ frames: Int) {
        var index = 0
        while index < frames {
            samples[index] = next(onTopOf: Float(samples[index]))
            index &+= 1
        }
    }

    @_noLocks
    private mutating func next(onTopOf base: Float) -> Int16 {
        state ^= state &<< 13
        state ^= state &>> 17
        state ^= state &<< 5
        let white = Float(Int32(bitPattern: state)) * (1 / 2_147_483_648)
        colour = colour * keep + white * amplitude
        let value = base + colour
        if value >= 32_767 { return 32_767 }
        if value <= -32_768 { return -32_768 }
        return Int16(value + (value < 0 ? -0.5 : 0.5))
    }
}
