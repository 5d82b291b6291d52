package import DBus

/// The options of `Audio1.OpenTap`, which copies a call.
package struct TapOptions: Hashable, Sendable {
    /// The copied side, when the copy has one channel.
    package enum Side: String, Hashable, Sendable, CaseIterable {
        /// Both sides, mixed.
        case both
        /// The near end, as btcalld sends it to the far end.
        case local
        /// The far end.
        case remote
    }

    /// With two channels, the near end is left and the far end right.
    package var format: AudioFormat
    package var side: Side
    /// Whether the audio is a stream, without message boundaries.
    package var isStream: Bool

    package init(format: AudioFormat = AudioFormat(), side: Side = .both, isStream: Bool = false) {
        self.format = format
        self.side = side
        self.isStream = isStream
    }

    /// - Throws: `.invalidArgument` for a value that is not accepted, naming the accepted ones.
    package init(_ fields: Fields) throws(APIError) {
        format = try AudioFormat(options: fields)
        let word = try fields.optionalWord("side", of: Side.self)
        guard word == nil || format.channels == 1 else {
            throw APIError(
                .invalidArgument,
                "side in \(fields.subject) goes with one channel: with two the near end is left and the far end right")
        }
        side = word ?? .both
        isStream = try fields.optionalBool("stream") ?? false
    }

    package var fields: [String: Value] {
        var fields = format.options
        if format.channels == 1 { fields["side"] = .string(side.rawValue) }
        fields["stream"] = .bool(isStream)
        return fields
    }
}
