import AudioDSP

// How loud the two directions are, measured only while somebody looks.
extension RealtimeThread {
    /// For so long after it was asked for, in milliseconds.
    private static var meteringLimit: Int { @_noLocks get { 2_000 } }

    /// What the person hears, before the device's own volume.
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

    /// What the far end of the calls hears.
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

    /// Of the monotonic clock; differences are meant, by `&-`.
    @_noLocks
    private func milliseconds() -> Int { Int(truncatingIfNeeded: now / 1_000_000) }
}
