package import HandsFree

/// Reads the key of a headset that reports it on its AT connection, from the events of its `AudioGateway`.
///
/// AT+XEVENT=TALK,1 and TALK,0 need no row: nothing else means a talk key. Other forms are patterns of a row.
package struct ATTalkReader: Hashable, Sendable {
    private let press: [ATTalkPattern]
    private let release: [ATTalkPattern]

    /// Creates a reader for TALK alone.
    package init() {
        press = []
        release = []
    }

    /// Creates a reader for TALK and the forms of a row.
    package init(press: [ATTalkPattern], release: [ATTalkPattern]) {
        self.press = press
        self.release = release
    }

    /// - Returns: nil for an event that is not the key's. An event of the key has no second meaning: a call key that is the
    ///   talk key neither answers nor ends calls.
    package func read(_ event: AudioGateway.Event) -> TalkSignal? {
        if case .talkKey(let isPressed) = event { return isPressed ? .pressed : .released }
        if press.contains(where: { $0.matches(event) }) { return release.isEmpty ? .tapped : .pressed }
        return release.contains { $0.matches(event) } ? .released : nil
    }
}

/// A message on a headset's AT connection that may be a talk key, in the notation of a row: the command without AT.
package enum ATTalkPattern: Hashable, Sendable {
    /// `+XEVENT=PTT,1`: the word and the first values of an event that the gateway does not interpret.
    case event([String])
    /// `+CKPD=200`: the call key.
    case callKey
    /// `+BVRA=1`, `+BVRA=0`: the key for voice recognition.
    case voiceRecognition(Bool)

    /// Longest notation in bytes.
    package static let longest = 64
    private static let eventPrefix = "+XEVENT="

    /// Reads the notation; nil if not accepted.
    package init?(_ text: String) {
        guard (1...Self.longest).contains(text.utf8.count) else { return nil }
        switch text {
        case "+CKPD=200": self = .callKey
        case "+BVRA=1": self = .voiceRecognition(true)
        case "+BVRA=0": self = .voiceRecognition(false)
        default:
            guard text.hasPrefix(Self.eventPrefix) else { return nil }
            let fields = text.dropFirst(Self.eventPrefix.count).split(separator: ",", omittingEmptySubsequences: false)
            let words = fields.map { String($0).uppercased() }
            // A word and at most three values; BATTERY is no key.
            guard (1...4).contains(words.count), words.allSatisfy(Self.isPlain), words[0] != "BATTERY",
                let first = words[0].utf8.first, (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(first)
            else { return nil }
            self = .event(words)
        }
    }

    /// Creates the pattern of an observed event; nil for one that cannot be a key.
    package init?(observed event: AudioGateway.Event) {
        switch event {
        case .talkKey(let isPressed): self = .event(["TALK", isPressed ? "1" : "0"])
        case .vendor(let report):
            let words = ([report.word] + report.values).prefix(4)
            self.init(Self.eventPrefix + words.joined(separator: ","))
        case .button(.callKey): self = .callKey
        case .voiceRecognition(let isOn): self = .voiceRecognition(isOn)
        case .established, .volume, .battery, .powerSource, .hfIndicator, .button(.hangUp), .codecs, .codecFailed,
            .audioFailed, .audioRequested, .ownNoiseReduction, .microphoneMuted, .audioPolicy:
            return nil
        }
    }

    private static func isPlain(_ word: String) -> Bool {
        !word.isEmpty
            && word.utf8.allSatisfy {
                (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                    || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: ".")
            }
    }

    package func matches(_ event: AudioGateway.Event) -> Bool {
        switch (self, event) {
        case (.event(let words), .vendor(let report)):
            let said = [report.word] + report.values
            return said.count >= words.count && zip(words, said).allSatisfy { $0 == $1.uppercased() }
        case (.event(let words), .talkKey(let isPressed)): return words == ["TALK", isPressed ? "1" : "0"]
        case (.callKey, .button(.callKey)): return true
        case (.voiceRecognition(let mine), .voiceRecognition(let theirs)): return mine == theirs
        case (.event, _), (.callKey, _), (.voiceRecognition, _): return false
        }
    }

    /// Whether one message can match both.
    package func overlaps(_ other: ATTalkPattern) -> Bool {
        switch (self, other) {
        case (.event(let mine), .event(let theirs)): zip(mine, theirs).allSatisfy { $0 == $1 }
        case (.callKey, .callKey): true
        case (.voiceRecognition(let mine), .voiceRecognition(let theirs)): mine == theirs
        case (.event, _), (.callKey, _), (.voiceRecognition, _): false
        }
    }
}

extension ATTalkPattern: CustomStringConvertible {
    package var description: String {
        switch self {
        case .event(let words): Self.eventPrefix + words.joined(separator: ",")
        case .callKey: "+CKPD=200"
        case .voiceRecognition(let isOn): isOn ? "+BVRA=1" : "+BVRA=0"
        }
    }
}
