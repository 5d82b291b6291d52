/// Codecs of a synchronous connection, with the identifiers of AT+BAC and +BCS (HFP 1.9 §10, Assigned Numbers).
package enum VoiceCodec: UInt8, Hashable, Sendable, CaseIterable {
    case cvsd = 1
    case mSBC = 2
    case lc3SWB = 3

    /// Sample rate of the decoded audio in Hz; always one channel.
    package var sampleRate: Int {
        switch self {
        case .cvsd: 8000
        case .mSBC: 16000
        case .lc3SWB: 32000
        }
    }
}

extension VoiceCodec {
    /// Reads a word of `btcall-lab gateway`: `cvsd`, `msbc`, `lc3_swb`; nil for an unknown one.
    package init?(word: String) {
        switch word {
        case "cvsd": self = .cvsd
        case "msbc": self = .mSBC
        case "lc3_swb": self = .lc3SWB
        default: return nil
        }
    }

    /// The word that `init(word:)` reads.
    package var word: String {
        switch self {
        case .cvsd: "cvsd"
        case .mSBC: "msbc"
        case .lc3SWB: "lc3_swb"
        }
    }
}

extension VoiceCodec: CustomStringConvertible {
    /// The word of the command line and of D-Bus: `CVSD`, `mSBC`, `LC3-SWB`.
    package var description: String {
        switch self {
        case .cvsd: "CVSD"
        case .mSBC: "mSBC"
        case .lc3SWB: "LC3-SWB"
        }
    }
}
