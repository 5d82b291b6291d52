import AudioDSP

// Levels of the two directions, measured only while somebody requests them.
extension RealtimeThread {
    /// Time for which a request keeps the measurement running, in milliseconds.
    private static var meteringLimit: Int { @_noLocks get { 2_000 } }

    /// Measures the level towards the user, before the device's own volume.
    @_noLocks
    mutating func meterDownlink() {
        let elapsed = milliseconds() &- counters.pointee.levelsAskedAt.read()
        let isWanted = elapsed >= 0 && elapsed < Self.meteringLimit
        if isWanted && !isMetering {
            heardMeter.forget()
            saidMeter.forget()
        }
        isMetering = isWanted
        if isMetering { heardMeter.measure(downlink, tickFrames) }
    }

    /// Measures the level towards the far end of the calls.
    @_noLocks
    mutating func meterUplink() {
        if !isMetering { return }
        saidMeter.measure(uplink, tickFrames)
        counters.pointee.heardPeak.set(heardMeter.peak)
        counters.pointee.heardPower.set(heardMeter.power)
        counters.pointee.saidPeak.set(saidMeter.peak)
        counters.pointee.saidPower.set(saidMeter.power)
        counters.pointee.levelsAt.set(milliseconds())
    }

    /// Milliseconds of the monotonic clock; compare by `&-`.
    @_noLocks
    private func milliseconds() -> Int { Int(truncatingIfNeeded: now / 1_000_000) }
}
