package import BluetoothTypes

/// Knowledge of the codec ladder about one headset on one adapter. The shell stores it:
/// `AudioGatewayConfiguration.codecMemory` passes it in, `AudioGateway.codecMemory` returns it. The shell also decides when
/// to forget it: another adapter, another kernel, a user's request.
///
/// One failure may be the radio's. The same failure in two connections, without a success in between, is taken as the
/// headset's nature; within one connection the ladder acts on the first failure.
package struct CodecMemory: Hashable, Sendable {
    /// Codecs that the adapter cannot carry; applies to all its headsets.
    package var lacking: Set<VoiceCodec>
    /// Best remaining codec below those that failed last; nil if none did.
    package private(set) var ceiling: VoiceCodec?
    /// Number of consecutive connections with a failure.
    package private(set) var failures: Int
    /// Number of consecutive connections in which the headset answered no +BCS.
    package private(set) var unanswered: Int
    /// Codecs that the headset offered then; the knowledge holds while it offers the same.
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

    /// Best codec to try with a headset that offers these; nil: no limit.
    package func ceiling(whileOffered codecs: [VoiceCodec]) -> VoiceCodec? {
        codecs == offered && failures >= Self.certainty ? ceiling : nil
    }

    /// Whether +BCS would only cost time.
    package func isSelectionPointless(whileOffered codecs: [VoiceCodec]) -> Bool {
        codecs == offered && unanswered >= Self.certainty
    }

    /// Records that a better codec failed and a lower one connected.
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

    /// Records that only CVSD without an agreement connected.
    mutating func selectionUnanswered(offered codecs: [VoiceCodec]) {
        unanswered = codecs == offered ? min(unanswered + 1, 1000) : 1
        if codecs != offered { (ceiling, failures) = (nil, 0) }
        offered = codecs
    }

    mutating func selectionAnswered() {
        unanswered = 0
    }

    /// Records that the codec connected at the first attempt.
    mutating func succeeded(_ codec: VoiceCodec) {
        guard let ceiling, codec.rawValue > ceiling.rawValue else { return }
        (self.ceiling, failures) = (nil, 0)
    }
}
