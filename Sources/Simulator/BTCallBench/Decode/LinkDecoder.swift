package import AudioDSP

/// The daemon's receive path over the packets of a capture: `btcall-lab decode`.
package struct LinkDecoder: ~Copyable {
    /// What came of a capture. A frame is a codec frame, or a packet that is not empty for CVSD.
    package struct Report: Hashable, Sendable {
        package var packets = 0
        /// Good and concealed ones.
        package var frames = 0
        package var framesGood = 0
        /// Made up; before the first good one that is silence.
        package var framesConcealed = 0
        /// How often a sequence number was not the next one.
        package var sequenceGaps = 0
        /// How often the search for a header had to start again.
        package var resyncs = 0
        /// Codec frames that the decoder refused.
        package var crcErrors = 0
        /// Bytes in which no codec frame was found.
        package var bytesSkipped = 0
        /// The most concealed frames in a row.
        package var maxBurst = 0

        package init() {}
    }

    /// Longer packets go through the receiver in pieces.
    private static let pieceBytes = 2_048

    private let format: LinkFormat
    private var receiver: LinkReceiver
    private var buffer: [Int16]
    /// Of CVSD, whose frames here are packets.
    private var counted = Report()
    private var burst = 0

    /// 16-bit audio, one channel, as far as it goes. Taking it out makes room for more.
    package var audio: [Int16] = []

    package init(_ format: LinkFormat) {
        self.format = format
        receiver = LinkReceiver(format)
        buffer = [Int16](repeating: 0, count: LinkReceiver.mostFrames(format, of: Self.pieceBytes))
    }

    /// - Parameter status: the packet status, 0 for correctly received.
    package mutating func receive(_ packet: ArraySlice<UInt8>, status: UInt8 = 0) {
        counted.packets += 1
        if !packet.isEmpty {
            counted.frames += 1
            burst = status == 0 ? 0 : burst + 1
            if status == 0 { counted.framesGood += 1 }
            counted.maxBurst = max(counted.maxBurst, burst)
        }
        var rest = packet
        while !rest.isEmpty {
            let piece = Array(rest.prefix(Self.pieceBytes))
            rest = rest.dropFirst(piece.count)
            let made = receiver.receive(
                piece, piece.count, status: Int32(status), into: &buffer, capacity: buffer.count)
            audio += buffer[..<made]
        }
    }

    /// The capture has ended.
    package mutating func finish() -> Report {
        let made = receiver.finish(into: &buffer, capacity: buffer.count)
        audio += buffer[..<made]
        var report = counted
        switch format {
        case .cvsd, .pcm16: break
        case .mSBC, .lc3SWB:
            let counters = receiver.counters
            report.frames = counters.frames
            report.framesGood = counters.frames - counters.framesConcealed - counters.framesBefore
            report.sequenceGaps = counters.sequenceGaps
            report.resyncs = counters.resyncs
            report.crcErrors = counters.decodeErrors
            report.bytesSkipped = counters.bytesSkipped
            report.maxBurst = counters.longestBurst
        }
        report.framesConcealed = report.frames - report.framesGood
        return report
    }
}
