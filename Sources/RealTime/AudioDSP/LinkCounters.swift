/// Counters of a link's receiver since its creation.
///
/// A unit is a codec frame (7.5 ms) for mSBC and LC3-SWB, and an audio frame otherwise.
package struct LinkCounters: Equatable, Sendable {
    package var packets = 0
    /// Packets with a bad status; with a codec also packets of zeros, from 8 bytes (mSBC) or 60 (LC3-SWB).
    package var damagedPackets = 0
    /// Units delivered, including concealed ones.
    package var frames = 0
    /// Units concealed after the first good one.
    package var framesConcealed = 0
    /// Units of silence before the first good one.
    package var framesBefore = 0
    /// Most consecutive units that were concealed, or silence before the first good one.
    package var longestBurst = 0
    /// Number of codec frames whose sequence number did not follow the previous one.
    package var sequenceGaps = 0
    /// Codec frames missing according to those numbers; the loss of four in a row is invisible to them.
    package var framesMissed = 0
    /// Number of restarted searches for a header.
    package var resyncs = 0
    /// Codec frames rejected by the decoder.
    package var decodeErrors = 0
    /// Bytes outside any codec frame.
    package var bytesSkipped = 0

    package init() {}
}
