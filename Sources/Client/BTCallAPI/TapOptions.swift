package import DBus

/// What a program asks of a copy of a call: the options of `Audio1.OpenTap`.
package struct TapOptions: Hashable, Sendable {
    /// Which side it is of, where it has one channel.
    package enum Side: String, Hashable, Sendable, CaseIterable {
        /// Added up.
        case both
        /// The near end, as it is sent to the far end.
        case local
        /// The far end.
        case remote
    }

    /// With two channels the near end is left, and the far end right.
    package var format: AudioFormat
    package var side: Side
    /// Without borders between messages.
    package var isStream: Bool

    package init(format: AudioFormat = AudioFormat(), side: Side = .both, isStream: Bool = false) {
        self.format = format
        self.side = side
        self.isStream = isStream
    }

    /// - Throws: `.invalidArgument` for what is not accepted, naming what is.
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
