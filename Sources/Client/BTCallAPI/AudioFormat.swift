package import DBus

/// Format of the audio in a descriptor: one message is one block of 10 ms, interleaved.
package struct AudioFormat: Hashable, Sendable, CustomStringConvertible {
    /// Sample format, with the words of the option `format` as raw values.
    package enum Sample: String, Hashable, Sendable, CaseIterable {
        /// Signed 16 bit, little-endian.
        case s16 = "S16"
        /// 32 bit floating point from -1 to 1, little-endian.
        case f32 = "F32"

        /// The word for this format in `CallProvider1.AudioReady`.
        package var announced: String { rawValue + "LE" }
    }

    /// The accepted sample rates in Hz.
    package static let rates = [8000, 16000, 24000, 32000, 44100, 48000]

    /// Sample rate in Hz, one of ``rates``.
    package let rate: Int
    package let sample: Sample
    /// 1 or 2.
    package let channels: Int

    /// - Parameters:
    ///   - rate: one of ``rates``.
    ///   - channels: 1 or 2.
    package init(rate: Int = 16000, sample: Sample = .s16, channels: Int = 1) {
        self.rate = rate
        self.sample = sample
        self.channels = channels
    }

    /// Frames in one message.
    package var blockFrames: Int { rate / 100 }

    package var description: String {
        "\(rate) Hz, \(sample.rawValue), \(channels == 1 ? "one channel" : "\(channels) channels")"
    }
}

// An application's request.
extension AudioFormat {
    package static let entries: [EntryType] = [.integer("rate"), .text("format"), .integer("channels")]

    /// Reads `rate`, `format` and `channels`; the defaults are 16000, `S16`, 1.
    ///
    /// - Throws: `.invalidArgument` for a value that is not accepted, naming the accepted ones.
    package init(options fields: Fields) throws(APIError) {
        let standard = AudioFormat()
        self.init(
            rate: try fields.optionalInteger("rate") ?? standard.rate,
            sample: try fields.optionalWord("format", of: Sample.self) ?? standard.sample,
            channels: try fields.optionalInteger("channels") ?? standard.channels)
        guard Self.rates.contains(rate) else {
            let accepted = Self.rates.map(String.init).joined(separator: ", ")
            throw APIError(.invalidArgument, "rate in \(fields.subject) is \(rate); accepted: \(accepted)")
        }
        guard channels == 1 || channels == 2 else {
            throw APIError(.invalidArgument, "channels in \(fields.subject) is \(channels); accepted: 1, 2")
        }
    }

    package var options: [String: Value] {
        [
            "rate": .uint32(UInt32(clamping: rate)),
            "format": .string(sample.rawValue),
            "channels": .uint32(UInt32(clamping: channels)),
        ]
    }
}

// The daemon's announcement with a descriptor.
extension AudioFormat {
    /// - Throws: `.invalidArgument` for a format that this version does not know.
    package init(_ fields: Fields) throws(APIError) {
        let word = try fields.optionalString("format", .word) ?? Sample.s16.announced
        guard let sample = Sample.allCases.first(where: { $0.announced == word }) else {
            let accepted = Sample.allCases.map(\.announced).joined(separator: ", ")
            throw APIError(.invalidArgument, "format in \(fields.subject) is \"\(word)\"; accepted: \(accepted)")
        }
        self.init(
            rate: try fields.integer("rate"), sample: sample, channels: try fields.optionalInteger("channels") ?? 1)
        let frames = try fields.optionalInteger("blockFrames") ?? blockFrames
        guard Self.rates.contains(rate), channels == 1 || channels == 2, frames == blockFrames else {
            throw APIError(
                .invalidArgument,
                "\(fields.subject) is \(rate) frames per second, \(channels) channels, \(frames) frames in a block")
        }
    }

    package var fields: [String: Value] {
        [
            "rate": .uint32(UInt32(clamping: rate)),
            "channels": .uint32(UInt32(clamping: channels)),
            "format": .string(sample.announced),
            "blockFrames": .uint32(UInt32(clamping: blockFrames)),
        ]
    }
}
