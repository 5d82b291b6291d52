package import BluetoothTypes
import Spelling

/// One special treatment of a headset: a key and its value, in the quirks database and in `[headset ADDRESS]` of the
/// configuration. Each field of `Quirks` has exactly one key, so that no row can request something that is not implemented.
package enum QuirkEffect: Hashable, Sendable {
    case maskFeatures(AudioGatewayFeatures)
    case brokenCodecs(Set<VoiceCodec>)
    case noMicrophoneVolume(Bool)
    case softwareVolume(Bool)
    case forgetsVolume(Bool)
    case refusesFirstAudio(Bool)
    case setUpSeconds(Int)
    case audioDelayMilliseconds(Int)
    case appleName(String)
    case secondCallWaits(Bool)
    case forgetsWaitingCall(Bool)

    /// The keys, in the order in which results are listed.
    package enum Key: String, CaseIterable, Sendable {
        case maskFeatures, brokenCodecs, noMicrophoneVolume, softwareVolume, forgetsVolume, refusesFirstAudio
        case setUpSeconds, audioDelayMilliseconds, appleName, secondCallWaits, forgetsWaitingCall

        /// Finds the key by its name, or by the name that an earlier version used.
        package init?(spelled name: String) {
            guard let key = Key(rawValue: name) ?? UnitSpelling.current(of: name).flatMap({ Key(rawValue: $0) }) else {
                return nil
            }
            self = key
        }

        /// One-line description for messages.
        package var summary: String {
            switch self {
            case .maskFeatures: "features that are not offered to the headset (+BRSF)"
            case .brokenCodecs: "codecs that are not used, whatever the headset offers"
            case .noMicrophoneVolume: "the microphone's volume is not sent (+VGM)"
            case .softwareVolume: "the volume is not sent (+VGS): btcalld applies it"
            case .forgetsVolume: "a volume reported within 0.5 s of the audio link is replaced by the one before"
            case .refusesFirstAudio: "a refused audio link is tried once more before CVSD"
            case .setUpSeconds: "time for the service level connection"
            case .audioDelayMilliseconds: "least time from the connection or the answer of a call to the audio link"
            case .appleName: "our identity for headsets that require a telephone of one maker (+XAPL)"
            case .secondCallWaits: "a second incoming call is listed as waiting (+CLCC)"
            case .forgetsWaitingCall: "a waiting call is reported again when the active one has ended"
            }
        }

        /// Accepted values, for messages.
        package var accepted: String {
            switch self {
            case .maskFeatures:
                "a list of " + AudioGatewayFeatures.words.map(\.word).joined(separator: ", ")
            case .brokenCodecs: "a list of msbc, lc3_swb (CVSD is always possible)"
            case .noMicrophoneVolume, .softwareVolume, .forgetsVolume, .refusesFirstAudio, .secondCallWaits,
                .forgetsWaitingCall:
                "yes or no"
            case .setUpSeconds: "a whole number from 5 to 120"
            case .audioDelayMilliseconds: "a whole number from 0 to 5000"
            case .appleName: "1 to 32 letters and digits"
            }
        }
    }

    package var key: Key {
        switch self {
        case .maskFeatures: .maskFeatures
        case .brokenCodecs: .brokenCodecs
        case .noMicrophoneVolume: .noMicrophoneVolume
        case .softwareVolume: .softwareVolume
        case .forgetsVolume: .forgetsVolume
        case .refusesFirstAudio: .refusesFirstAudio
        case .setUpSeconds: .setUpSeconds
        case .audioDelayMilliseconds: .audioDelayMilliseconds
        case .appleName: .appleName
        case .secondCallWaits: .secondCallWaits
        case .forgetsWaitingCall: .forgetsWaitingCall
        }
    }

    /// Reads a value in the notation of a file; nil if not accepted.
    package init?(_ key: Key, _ text: String) {
        switch key {
        case .maskFeatures:
            guard let features = Self.list(text, { AudioGatewayFeatures(word: $0) }) else { return nil }
            self = .maskFeatures(features.reduce([]) { $0.union($1) })
        case .brokenCodecs:
            guard let codecs = Self.list(text, { VoiceCodec(word: $0) }), !codecs.contains(.cvsd) else { return nil }
            self = .brokenCodecs(Set(codecs))
        case .noMicrophoneVolume:
            guard let flag = Self.flag(text) else { return nil }
            self = .noMicrophoneVolume(flag)
        case .softwareVolume:
            guard let flag = Self.flag(text) else { return nil }
            self = .softwareVolume(flag)
        case .forgetsVolume:
            guard let flag = Self.flag(text) else { return nil }
            self = .forgetsVolume(flag)
        case .refusesFirstAudio:
            guard let flag = Self.flag(text) else { return nil }
            self = .refusesFirstAudio(flag)
        case .setUpSeconds:
            guard let number = Int(text), (5...120).contains(number) else { return nil }
            self = .setUpSeconds(number)
        case .audioDelayMilliseconds:
            guard let number = Int(text), (0...5000).contains(number) else { return nil }
            self = .audioDelayMilliseconds(number)
        case .appleName:
            guard (1...32).contains(text.utf8.count), text.utf8.allSatisfy(Self.isAlphanumeric) else { return nil }
            self = .appleName(text)
        case .secondCallWaits:
            guard let flag = Self.flag(text) else { return nil }
            self = .secondCallWaits(flag)
        case .forgetsWaitingCall:
            guard let flag = Self.flag(text) else { return nil }
            self = .forgetsWaitingCall(flag)
        }
    }

    /// The value in the notation of a file.
    package var value: String {
        switch self {
        case .maskFeatures(let features):
            AudioGatewayFeatures.words.filter { features.contains($0.feature) }.map(\.word).joined(separator: ", ")
        case .brokenCodecs(let codecs):
            codecs.sorted { $0.rawValue < $1.rawValue }.map(\.word).joined(separator: ", ")
        case .noMicrophoneVolume(let isOn), .softwareVolume(let isOn), .forgetsVolume(let isOn),
            .refusesFirstAudio(let isOn), .secondCallWaits(let isOn), .forgetsWaitingCall(let isOn):
            isOn ? "yes" : "no"
        case .setUpSeconds(let number), .audioDelayMilliseconds(let number): String(number)
        case .appleName(let name): name
        }
    }

    /// Applies the effect. Single values replace those of earlier rows; lists add up.
    package func apply(to quirks: inout Quirks) {
        switch self {
        case .maskFeatures(let features): quirks.maskedFeatures.formUnion(features)
        case .brokenCodecs(let codecs): quirks.brokenCodecs.formUnion(codecs)
        case .noMicrophoneVolume(let isOn): quirks.noMicrophoneVolume = isOn
        case .softwareVolume(let isOn): quirks.softwareVolume = isOn
        case .forgetsVolume(let isOn): quirks.forgetsVolume = isOn
        case .refusesFirstAudio(let isOn): quirks.refusesFirstAudio = isOn
        case .setUpSeconds(let seconds): quirks.setUpSeconds = seconds
        case .audioDelayMilliseconds(let milliseconds): quirks.audioDelayMilliseconds = milliseconds
        case .appleName(let name): quirks.appleName = name
        case .secondCallWaits(let isOn): quirks.secondCallWaits = isOn
        case .forgetsWaitingCall(let isOn): quirks.forgetsWaitingCall = isOn
        }
    }

    /// Combines two effects whose values add up; otherwise returns the later one.
    func joined(after earlier: QuirkEffect) -> QuirkEffect {
        switch (earlier, self) {
        case (.maskFeatures(let old), .maskFeatures(let new)): .maskFeatures(old.union(new))
        case (.brokenCodecs(let old), .brokenCodecs(let new)): .brokenCodecs(old.union(new))
        default: self
        }
    }

    var addsUp: Bool {
        switch self {
        case .maskFeatures, .brokenCodecs: true
        case .noMicrophoneVolume, .softwareVolume, .forgetsVolume, .refusesFirstAudio, .setUpSeconds,
            .audioDelayMilliseconds,
            .appleName, .secondCallWaits, .forgetsWaitingCall:
            false
        }
    }

    private static func flag(_ text: String) -> Bool? {
        switch text.lowercased() {
        case "yes", "true", "on", "1": true
        case "no", "false", "off", "0": false
        default: nil
        }
    }

    /// Reads comma-separated words, at least one.
    static func list<Element>(_ text: String, _ read: (String) -> Element?) -> [Element]? {
        var elements: [Element] = []
        for word in QuirkText.elements(text) {
            guard let element = read(word) else { return nil }
            elements.append(element)
        }
        return elements.isEmpty ? nil : elements
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
            || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
    }
}

extension QuirkEffect: CustomStringConvertible {
    /// As a line of the database: `setUpSeconds = 30`.
    package var description: String { "\(key.rawValue) = \(value)" }
}

/// Notation of lists.
enum QuirkText {
    /// The elements between commas without surrounding blanks; an empty one is kept, and refused by its reader.
    static func elements(_ text: String) -> [String] {
        text.split(separator: ",", omittingEmptySubsequences: false).map { trimmed($0) }
    }

    static func trimmed(_ text: Substring) -> String {
        var rest = text
        while rest.first == " " || rest.first == "\t" { rest = rest.dropFirst() }
        while rest.last == " " || rest.last == "\t" { rest = rest.dropLast() }
        return String(rest)
    }
}
