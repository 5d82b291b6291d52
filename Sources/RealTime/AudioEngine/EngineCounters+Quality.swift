package import AudioDSP

extension EngineCounters.Terminal {
    /// What was counted since the terminal was made, as a reading for `LinkQuality.since`; without its duration.
    ///
    /// Lost is what came damaged or is missing within the stream, and what the timer stood in for and never came.
    package var quality: LinkQuality {
        var quality = LinkQuality()
        if isLink {
            quality.packetsReceived = packetsReceived
            // A packet of another size than a codec frame's counts as the codec frames in it.
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
