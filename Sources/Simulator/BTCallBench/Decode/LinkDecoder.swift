package import AudioDSP

/// Runs the daemon's receive path on a capture's packets, for `btcall-lab decode`.
package struct LinkDecoder: ~Copyable {
    /// Result of a capture. A frame is a codec frame; for CVSD, a packet that is not empty.
    package struct Report: Hashable, Sendable {
        package var packets = 0
        /// Good and concealed frames.
        package var frames = 0
        package var framesGood = 0
        /// Concealed frames; silence before the first good one.
        package var framesConcealed = 0
        /// Number of sequence numbers that were not the next one.
        package var sequenceGaps = 0
        /// Number of times the search for a header started again.
        package var resyncs = 0
        /// Codec frames that the decoder refused.
        package var crcErrors = 0
        /// Bytes in which no codec frame was found.
        package var bytesSkipped = 0
        /// Longest run of concealed frames.
        package var maxBurst = 0

        package init() {}
    }

    /// Longer packets go through the receiver in pieces.
    private static let pieceBytes = 2_048

    private let format: LinkFormat
    private var receiver: LinkReceiver
    private var buffer: [Int16]
    /// Counters of CVSD, whose frames here are packets.
    private var counted = Report()
    private var burst = 0

    /// 16-bit audio of one channel so far. Removing it makes room for more.
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

    /// Ends the capture.
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
