package import BluetoothTypes

/// What the codec ladder learnt of one headset on one adapter. The shell keeps it: `AudioGatewayConfiguration.codecMemory`
/// takes it in, `AudioGateway.codecMemory` gives it out. When to forget it is the shell's too: another adapter, another
/// kernel, a person's wish.
///
/// One failure may be the radio's. What a headset did in two connections, and not otherwise in between, is taken as its
/// nature; within one connection the ladder acts on the first failure.
package struct CodecMemory: Hashable, Sendable {
    /// Codecs that the adapter cannot carry; what is true of it for one headset is true for all.
    package var lacking: Set<VoiceCodec>
    /// The best codec that is left after those that failed last; nil: none did.
    package private(set) var ceiling: VoiceCodec?
    /// In how many connections in a row one failed.
    package private(set) var failures: Int
    /// In how many connections in a row the headset left every +BCS without an answer.
    package private(set) var unanswered: Int
    /// What the headset offered then; what was learnt of it holds while it offers the same.
    package private(set) var offered: [VoiceCodec]

    package static let certainty = 2

    /// All counts are 0…1000.
    package init(
        lacking: Set<VoiceCodec> = [], ceiling: VoiceCodec? = nil, failures: Int = 0, unanswered: Int = 0,
        offered: [VoiceCodec] = []
    ) {
        self.lacking = lacking
        self.ceiling = ceiling
        self.failures = min(max(failures, 0), 1000)
        self.unanswered = min(max(unanswered, 0), 1000)
        self.offered = offered
    }

    /// The best codec to try with a headset that offers this; nil: whatever both have.
    package func ceiling(whileOffered codecs: [VoiceCodec]) -> VoiceCodec? {
        codecs == offered && failures >= Self.certainty ? ceiling : nil
    }

    /// Whether +BCS would only cost time.
    package func isSelectionPointless(whileOffered codecs: [VoiceCodec]) -> Bool {
        codecs == offered && unanswered >= Self.certainty
    }

    /// A better codec failed and a lower one came up.
    ///
    /// - Parameter isFirst: of this connection; another failure in the same connection only lowers the ceiling.
    mutating func steppedDown(to codec: VoiceCodec, offered codecs: [VoiceCodec], isFirst: Bool) {
        guard codecs == offered else {
            (ceiling, failures, unanswered, offered) = (codec, 1, 0, codecs)
            return
        }
        if isFirst { failures = min(failures + 1, 1000) }
        ceiling = isFirst || codec.rawValue < (ceiling ?? codec).rawValue ? codec : ceiling
    }

    /// Nothing but CVSD without an agreement came up.
    mutating func selectionUnanswered(offered codecs: [VoiceCodec]) {
        unanswered = codecs == offered ? min(unanswered + 1, 1000) : 1
        if codecs != offered { (ceiling, failures) = (nil, 0) }
        offered = codecs
    }

    mutating func selectionAnswered() {
        unanswered = 0
    }

    /// The codec came up at the first try.
    mutating func succeeded(_ codec: VoiceCodec) {
        guard let ceiling, codec.rawValue > ceiling.rawValue else { return }
        (self.ceiling, failures) = (nil, 0)
    }
}
