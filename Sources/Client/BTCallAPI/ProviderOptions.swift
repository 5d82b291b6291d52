import BluetoothTypes
package import DBus
package import TalkWords

/// The options of `Calls1.RegisterProvider`.
package struct ProviderOptions: Hashable, Sendable {
    /// Transport of the calls' audio to the application.
    package enum Audio: String, Hashable, Sendable, CaseIterable {
        /// A descriptor, passed by `CallProvider1.AudioReady`.
        case descriptor = "fd"
        /// The ALSA PCM.
        case pcm
    }

    package enum Capability: String, Hashable, Sendable, CaseIterable {
        case hold, swap, conference, dtmf, mute, dial, video, talk
    }

    /// More calls than there can be at the same time.
    private static let mostCalls = 64

    /// The application's name for people.
    package var name: String
    package var audio: Audio
    /// Format of the call's audio, where it uses a descriptor.
    package var format: AudioFormat
    package var capabilities: Set<Capability>
    /// Whether headsets are shown its calls. False for announcements, and for an application that does not know the state of
    /// its calls: headsets then see what `virtualCall` says.
    package var hasCallState: Bool
    /// Schemes of the addresses that it dials, in lower case; when empty, btcalld asks it for any address.
    package var schemes: [String] = []
    /// How the far ends of its calls hear the person; nil: as configured.
    package var talk: TalkMode?
    /// The objects of its calls from before a restart of the bus.
    package var calls: [String] = []

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

    /// - Throws: `.invalidArgument` for a word or number that is not accepted, naming the accepted ones.
    package init(_ fields: Fields) throws(APIError) {
        name = try fields.optionalString("name", .name)?.nonEmpty ?? "unnamed"
        audio = try fields.optionalWord("audio", of: Audio.self) ?? .descriptor
        if audio == .pcm, let given = AudioFormat.entries.first(where: { fields.values[$0.name] != nil }) {
            throw APIError(
                .invalidArgument,
                "\(given.name) in \(fields.subject) goes with audio=fd: with audio=pcm the ALSA client chooses it")
        }
        format = try AudioFormat(options: fields)
        hasCallState = try fields.optionalBool("callState") ?? true
        schemes = try Self.schemes(fields)
        talk = try fields.optionalWord("talk", of: TalkMode.self)
        calls = try fields.objectPaths("calls")
        guard calls.count <= Self.mostCalls else {
            throw APIError(
                .invalidArgument,
                "calls in \(fields.subject) has \(calls.count) paths; accepted: at most \(Self.mostCalls)")
        }
        capabilities = try Self.capabilities(fields) ?? []
    }

    /// - Returns: nil when there is no such entry.
    package static func capabilities(_ fields: Fields) throws(APIError) -> Set<Capability>? {
        guard fields.values["capabilities"] != nil else { return nil }
        var capabilities: Set<Capability> = []
        for word in try fields.strings("capabilities") {
            guard let capability = Capability(rawValue: try TextLimit.word.check(word, "a word in capabilities")) else {
                let accepted = Capability.allCases.map(\.rawValue).joined(separator: ", ")
                throw APIError(
                    .invalidArgument, "capabilities in \(fields.subject) has \"\(word)\"; accepted: \(accepted)")
            }
            capabilities.insert(capability)
        }
        return capabilities
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
        var fields: [String: Value] = [
            "name": .string(name),
            "audio": .string(audio.rawValue),
            "schemes": .strings(schemes),
            "capabilities": .strings(capabilities.map(\.rawValue).sorted()),
            "callState": .bool(hasCallState),
        ]
        // With `pcm` the ALSA client chooses the format.
        if audio == .descriptor { fields.merge(format.options) { _, new in new } }
        fields["talk"] = talk.map { .string($0.rawValue) }
        if !calls.isEmpty { fields["calls"] = .objectPaths(calls) }
        return fields
    }
}

/// The options of `Calls1.ReportIncoming` and `Calls1.ReportOutgoing`.
package struct ReportOptions: Hashable, Sendable {
    /// The other party's name, when the application knows it.
    package var name: String?
    package var isVideo: Bool
    /// The far end's address as known to the application, when it differs from the number.
    package var remoteAddress: String?
    /// Outgoing only: progress of the call, `.dialing`, `.alerting` or `.active`.
    package var state: CallDescription.State
    /// Actions on this call that the application supports; nil for all registered ones.
    package var capabilities: Set<ProviderOptions.Capability>?
    /// Kinds of device that this call may use; nil for all.
    package var routes: [CallDescription.Route]?
    /// How the far end hears the person; nil: as its application has registered.
    package var talk: TalkMode?
    /// Directions of audio and video, as the application has them.
    package var media = MediaOptions()
    /// Contact data of the other party from another program; not an option of the application.
    package var contact: ContactDescription?
    /// Outgoing only: beginning of `state` in milliseconds of the monotonic clock; nil: now.
    package var time: UInt64?

    package init(
        name: String? = nil, isVideo: Bool = false, state: CallDescription.State = .dialing,
        remoteAddress: String? = nil
    ) {
        self.remoteAddress = remoteAddress
        self.name = name
        self.isVideo = isVideo
        self.state = state
    }

    /// - Throws: `.invalidArgument` for a state other than `dialing`, `alerting` and `active`.
    package init(_ fields: Fields) throws(APIError) {
        name = try fields.optionalString("name", .name)?.nonEmpty
        remoteAddress = try fields.optionalString("remoteAddress", .address)?.nonEmpty
        media = try MediaOptions(fields)
        isVideo = media.video.map { $0 != .direction(.off) } ?? false
        if fields.values["video"]?.boolValue != nil { media.video = nil }
        let word = try fields.optionalString("state", .word) ?? CallDescription.State.dialing.rawValue
        let accepted: [CallDescription.State] = [.dialing, .alerting, .active]
        guard let state = CallDescription.State(rawValue: word), accepted.contains(state) else {
            throw APIError(
                .invalidArgument, "state in \(fields.subject) is \"\(word)\"; accepted: dialing, alerting, active")
        }
        time = try fields.optionalInteger("time")
        self.state = state
        capabilities = try ProviderOptions.capabilities(fields)
        routes = try CallDescription.Route.read(fields)
        talk = try fields.optionalWord("talk", of: TalkMode.self)
    }

    /// The entries for an incoming call.
    package var incomingFields: [String: Value] {
        var fields: [String: Value] = [
            "name": .string(name ?? ""), "video": .bool(isVideo), "remoteAddress": .string(remoteAddress ?? ""),
        ]
        fields.merge(media.fields) { _, new in new }
        fields["capabilities"] = capabilities.map { .strings($0.map(\.rawValue).sorted()) }
        fields["routes"] = routes.map { .strings($0.map(\.rawValue)) }
        fields["talk"] = talk.map { .string($0.rawValue) }
        return fields
    }

    /// The entries for an outgoing call.
    package var outgoingFields: [String: Value] {
        var fields = incomingFields
        fields["state"] = .string(state.rawValue)
        fields["time"] = time.map { .uint64($0) }
        return fields
    }
}
