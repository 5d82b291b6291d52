/// What a link's receiver has seen since it was made.
///
/// A unit is a codec frame (7.5 ms) for mSBC and LC3-SWB, and an audio frame otherwise.
package struct LinkCounters: Equatable, Sendable {
    package var packets = 0
    /// Packets with a bad status; with a codec also packets of zeros, from 8 bytes (mSBC) or 60 (LC3-SWB).
    package var damagedPackets = 0
    /// Units given, concealed ones included.
    package var frames = 0
    /// Units made up after the first good one.
    package var framesConcealed = 0
    /// Units of silence before the first good one.
    package var framesBefore = 0
    /// The most units in a row that were made up, or silence before the first good one.
    package var longestBurst = 0
    /// How often the sequence number of a codec frame was not the next one.
    package var sequenceGaps = 0
    /// Codec frames missing by those numbers; of four in a row they tell none.
    package var framesMissed = 0
    /// How often the search for a header had to start again.
    package var resyncs = 0
    /// Codec frames that the decoder refused.
    package var decodeErrors = 0
    /// Bytes that belonged to no codec frame.
    package var bytesSkipped = 0

    package init() {}
}
