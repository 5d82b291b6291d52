package import AudioDSP

extension EngineCounters.Terminal {
    /// Counts since the terminal was created, as a reading for `LinkQuality.since`; without a duration.
    ///
    /// Lost packets arrived damaged, are missing within the stream, or were replaced by the timer and never arrived.
    package var quality: LinkQuality {
        var quality = LinkQuality()
        if isLink {
            quality.packetsReceived = packetsReceived
            // A packet whose size differs from a codec frame's counts as its codec frames.
            quality.packetsLost = isFramed ? framesConcealed : packetsDamaged
            quality.packetsLost += max(0, packetsByTimer - packetsBalanced)
            let within = isFramed ? .microseconds(7_500 * framesConcealed) : duration(frames: framesConcealed)
            quality.concealed = within + duration(frames: samplesByTimer)
            quality.gaps = silences
            quality.deviation = .microseconds(deviationMicroseconds)
            quality.intervals = intervals
        }
        quality.dropped = duration(frames: underrunFrames + overrunFrames)
        quality.driftPPM = driftPPM
        quality.xruns = playbackXruns + captureXruns
        return quality
    }

    private func duration(frames: Int) -> Duration {
        rate > 0 ? .microseconds(frames * 1_000_000 / rate) : .zero
    }
}
