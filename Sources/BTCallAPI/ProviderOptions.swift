package import DBus

/// The options of `Calls1.RegisterProvider`.
package struct ProviderOptions: Hashable, Sendable {
    /// How the application gets the audio of its calls.
    package enum Audio: String, Hashable, Sendable, CaseIterable {
        /// A descriptor, by `CallProvider1.AudioReady`.
        case descriptor = "fd"
        /// The ALSA PCM.
        case pcm
    }

    package enum Capability: String, Hashable, Sendable, CaseIterable {
        case hold, swap, conference, dtmf, mute, dial, video
    }

    /// The rates that an application may ask for, in frames per second.
    package static let rates = [8000, 16000, 32000, 48000]

    /// What people call the application.
    package var name: String
    package var audio: Audio
    /// Frames per second of the call's audio, one of ``rates``.
    package var rate: Int
    package var capabilities: Set<Capability>
    /// Whether its calls are calls to headsets. False for announcements, and for an application that does not know what
    /// becomes of its calls: headsets are then shown what `virtualCall` says.
    package var hasCallState: Bool

    package init(
        name: String, audio: Audio = .descriptor, rate: Int = 16000, capabilities: Set<Capability> = [],
        hasCallState: Bool = true
    ) {
        self.hasCallState = hasCallState
        self.name = name
        self.audio = audio
        self.rate = rate
        self.capabilities = capabilities
    }

    /// - Throws: `.invalidArgument` for a word or rate that is not accepted, naming those that are.
    package init(_ fields: Fields) throws(APIError) {
        name = try fields.optionalString("name")?.nonEmpty ?? "unnamed"
        audio = try fields.optionalWord("audio", of: Audio.self) ?? .descriptor
        rate = try fields.optionalInteger("rate") ?? 16000
        guard Self.rates.contains(rate) else {
            let accepted = Self.rates.map(String.init).joined(separator: ", ")
            throw APIError(.invalidArgument, "rate in \(fields.subject) is \(rate); accepted: \(accepted)")
        }
        hasCallState = try fields.optionalBool("callState") ?? true
        capabilities = []
        for word in try fields.strings("capabilities") {
            guard let capability = Capability(rawValue: word) else {
                let accepted = Capability.allCases.map(\.rawValue).joined(separator: ", ")
                throw APIError(
                    .invalidArgument, "capabilities in \(fields.subject) has \"\(word)\"; accepted: \(accepted)")
            }
            capabilities.insert(capability)
        }
    }

    package var fields: [String: Value] {
        [
            "name": .string(name),
            "audio": .string(audio.rawValue),
            "rate": .uint32(UInt32(clamping: rate)),
            "capabilities": .strings(capabilities.map(\.rawValue).sorted()),
            "callState": .bool(hasCallState),
        ]
    }
}

/// The options of `Calls1.ReportIncoming` and `Calls1.ReportOutgoing`.
package struct ReportOptions: Hashable, Sendable {
    /// The other party's name, when the application knows it.
    package var name: String?
    package var isVideo: Bool
    /// Outgoing only: how far the call is, `.dialing` or `.alerting`.
    package var state: CallDescription.State

    package init(name: String? = nil, isVideo: Bool = false, state: CallDescription.State = .dialing) {
        self.name = name
        self.isVideo = isVideo
        self.state = state
    }

    /// - Throws: `.invalidArgument` for a state other than `dialing` and `alerting`.
    package init(_ fields: Fields) throws(APIError) {
        name = try fields.optionalString("name")?.nonEmpty
        isVideo = try fields.optionalBool("video") ?? false
        let word = try fields.optionalString("state") ?? CallDescription.State.dialing.rawValue
        guard let state = CallDescription.State(rawValue: word), state == .dialing || state == .alerting else {
            throw APIError(
                .invalidArgument, "state in \(fields.subject) is \"\(word)\"; accepted: dialing, alerting")
        }
        self.state = state
    }

    /// The entries for an incoming call.
    package var incomingFields: [String: Value] { ["name": .string(name ?? ""), "video": .bool(isVideo)] }

    /// The entries for an outgoing call.
    package var outgoingFields: [String: Value] {
        incomingFields.merging(["state": .string(state.rawValue)]) { _, new in new }
    }
}

/// The format that `CallProvider1.AudioReady` announces: one message is one block of 10 ms.
package struct AudioFormat: Hashable, Sendable {
    /// Frames per second.
    package var rate: Int
    package var channels: Int
    /// `S16LE`: signed 16 bit, little endian.
    package var sampleFormat: String
    /// Frames of one message: 10 ms.
    package var blockFrames: Int

    /// 16-bit mono at `rate` frames per second.
    package init(rate: Int) {
        self.rate = rate
        channels = 1
        sampleFormat = "S16LE"
        blockFrames = rate / 100
    }

    package init(_ fields: Fields) throws(APIError) {
        rate = try fields.integer("rate")
        channels = try fields.optionalInteger("channels") ?? 1
        sampleFormat = try fields.optionalString("format") ?? "S16LE"
        blockFrames = try fields.optionalInteger("blockFrames") ?? rate / 100
    }

    package var fields: [String: Value] {
        [
            "rate": .uint32(UInt32(clamping: rate)),
            "channels": .uint32(UInt32(clamping: channels)),
            "format": .string(sampleFormat),
            "blockFrames": .uint32(UInt32(clamping: blockFrames)),
        ]
    }
}
