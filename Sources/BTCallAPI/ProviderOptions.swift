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

    /// What people call the application.
    package var name: String
    package var audio: Audio
    /// Of the call's audio, where it comes by a descriptor.
    package var format: AudioFormat
    package var capabilities: Set<Capability>
    /// Whether its calls are calls to headsets. False for announcements, and for an application that does not know what
    /// becomes of its calls: headsets are then shown what `virtualCall` says.
    package var hasCallState: Bool
    /// The schemes of the addresses that it dials, in lower case; empty: it does not say, and is asked for any.
    package var schemes: [String] = []

    package init(
        name: String, audio: Audio = .descriptor, format: AudioFormat = AudioFormat(),
        capabilities: Set<Capability> = [], hasCallState: Bool = true
    ) {
        self.hasCallState = hasCallState
        self.name = name
        self.audio = audio
        self.format = format
        self.capabilities = capabilities
    }

    /// - Throws: `.invalidArgument` for a word or number that is not accepted, naming those that are.
    package init(_ fields: Fields) throws(APIError) {
        name = try fields.optionalString("name")?.nonEmpty ?? "unnamed"
        audio = try fields.optionalWord("audio", of: Audio.self) ?? .descriptor
        format = try AudioFormat(options: fields)
        hasCallState = try fields.optionalBool("callState") ?? true
        schemes = try Self.schemes(fields)
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

    private static func schemes(_ fields: Fields) throws(APIError) -> [String] {
        let words = try fields.strings("schemes")
        guard words.count <= 16, words.allSatisfy({ CallAddress.isScheme($0) }) else {
            throw APIError(
                .invalidArgument,
                "schemes in \(fields.subject) is not accepted; accepted: at most 16 words such as sip, tel, intercom")
        }
        return words.map { $0.lowercased() }
    }

    package var fields: [String: Value] {
        [
            "name": .string(name),
            "audio": .string(audio.rawValue),
            "schemes": .strings(schemes),
            "capabilities": .strings(capabilities.map(\.rawValue).sorted()),
            "callState": .bool(hasCallState),
        ].merging(format.options) { _, new in new }
    }
}

/// The options of `Calls1.ReportIncoming` and `Calls1.ReportOutgoing`.
package struct ReportOptions: Hashable, Sendable {
    /// The other party's name, when the application knows it.
    package var name: String?
    package var isVideo: Bool
    /// The far end's address as the application knows it, when it is another than the number.
    package var remoteAddress: String?
    /// Outgoing only: how far the call is, `.dialing` or `.alerting`.
    package var state: CallDescription.State

    package init(
        name: String? = nil, isVideo: Bool = false, state: CallDescription.State = .dialing,
        remoteAddress: String? = nil
    ) {
        self.remoteAddress = remoteAddress
        self.name = name
        self.isVideo = isVideo
        self.state = state
    }

    /// - Throws: `.invalidArgument` for a state other than `dialing` and `alerting`.
    package init(_ fields: Fields) throws(APIError) {
        name = try fields.optionalString("name")?.nonEmpty
        isVideo = try fields.optionalBool("video") ?? false
        remoteAddress = try fields.optionalString("remoteAddress")?.nonEmpty
        let word = try fields.optionalString("state") ?? CallDescription.State.dialing.rawValue
        guard let state = CallDescription.State(rawValue: word), state == .dialing || state == .alerting else {
            throw APIError(
                .invalidArgument, "state in \(fields.subject) is \"\(word)\"; accepted: dialing, alerting")
        }
        self.state = state
    }

    /// The entries for an incoming call.
    package var incomingFields: [String: Value] {
        [
            "name": .string(name ?? ""), "video": .bool(isVideo), "remoteAddress": .string(remoteAddress ?? ""),
        ]
    }

    /// The entries for an outgoing call.
    package var outgoingFields: [String: Value] {
        incomingFields.merging(["state": .string(state.rawValue)]) { _, new in new }
    }
}
