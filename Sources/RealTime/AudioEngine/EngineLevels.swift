import CBTCall
import Glibc

/// Current levels of the two directions of the calls.
package struct EngineLevels: Equatable, Sendable {
    /// In decibels below full scale: -96, digital silence, to 0. A full-scale sine has an RMS of -3.
    package struct Level: Equatable, Sendable {
        package static let silence = -96.0

        package let peak: Double
        package let rms: Double

        /// - Parameters:
        ///   - peak: 0…32768.
        ///   - power: mean of the squares, 0…2³⁰.
        init(peak: Int, power: Int) {
            self.peak = max(Self.silence, 20 * log10(Double(peak) / 32_768))
            rms = max(Self.silence, 10 * log10(Double(power) / 1_073_741_824))
        }
    }

    /// Level towards the user, before the device's volume.
    package let heard: Level
    /// Level towards the far end, after muting and the microphone's volume.
    package let said: Level
}

extension AudioEngine {
    /// Age beyond which a measurement is stale, in milliseconds.
    private static let levelsLifetime = 500

    /// Current levels; nil while no audio is exchanged, and on the first request after a 2 s pause, which starts measuring.
    package func levels() -> EngineLevels? {
        let now = Int(truncatingIfNeeded: btcall_monotonic_nanoseconds() / 1_000_000)
        let counters = threadCounters
        counters.pointee.levelsAskedAt.set(now)
        let age = now &- counters.pointee.levelsAt.read()
        guard age < Self.levelsLifetime else { return nil }
        return EngineLevels(
            heard: .init(peak: counters.pointee.heardPeak.read(), power: counters.pointee.heardPower.read()),
            said: .init(peak: counters.pointee.saidPeak.read(), power: counters.pointee.saidPower.read()))
    }
}
