package import BluetoothTypes
package import DBus
package import TalkWords

/// The properties of `Call1`, also sent along with `Calls1.CallAdded`.
package struct CallDescription: Hashable, Sendable {
    package enum State: String, Hashable, Sendable, CaseIterable {
        case dialing, alerting, ringing, waiting, active, held, ended
    }

    package enum Direction: String, Hashable, Sendable, CaseIterable {
        case incoming, outgoing
    }

    /// A kind of device that a call may use.
    package enum Route: String, Hashable, Sendable, CaseIterable {
        case speakerphone, wiredHeadset, earpiece, bluetooth

        /// Reads the option `routes`; nil without it.
        ///
        /// - Returns: each kind once, in the order of ``allCases``.
        /// - Throws: `.invalidArgument` for an unknown word and for an empty list.
        package static func read(_ fields: Fields) throws(APIError) -> [Route]? {
            guard fields.values["routes"] != nil else { return nil }
            var routes: Set<Route> = []
            for word in try fields.strings("routes") {
                guard let route = Route(rawValue: try TextLimit.word.check(word, "a word in routes")) else {
                    throw APIError(
                        .invalidArgument, "routes in \(fields.subject) has \"\(word)\"; accepted: \(accepted)")
                }
                routes.insert(route)
            }
            guard !routes.isEmpty else {
                throw APIError(
                    .invalidArgument, "routes in \(fields.subject) is empty; accepted: at least one of \(accepted)")
            }
            return allCases.filter { routes.contains($0) }
        }

        private static var accepted: String { allCases.map(\.rawValue).joined(separator: ", ") }
    }

    /// The text of a UUID, lower case; the same for the whole call.
    package var id: String
    package var state: State
    /// Its progress in one word.
    package var status: CallStatusWord
    package var direction: Direction
    /// Nil when it is withheld or unknown.
    package var number: String?
    /// The other party's name; nil when unknown.
    package var name: String?
    /// The name of the application that owns the call.
    package var provider: String
    /// Index of the call for headsets (+CLCC), from 1.
    package var index: UInt8
    /// When the call became active, in milliseconds since 1970-01-01 00:00 UTC; 0 before that.
    package var startedAt: UInt64
    /// The synchronisation sources of its RTP streams, as reported by its application.
    package var ssrcs: [UInt32] = []
    /// The device that carries its audio; nil while none does.
    package var link: CallLinkDescription?
    /// Quality of the last seconds, and since the call has had audio; nil before.
    package var quality: QualityDescription?
    package var totalQuality: QualityDescription?
    /// Reason why nobody hears the call, for people; nil when no obstacle is known.
    package var audioProblem: String?
    /// Whether a program has a copy of the call.
    package var isRecorded = false
    /// The other party's address with its scheme, for example `tel:+4930123456`; empty when the number is withheld or
    /// unknown.
    package var handle = ""
    /// The far end's address as reported by the call's application; otherwise the handle.
    package var remoteAddress = ""
    /// Contact data of the other party from a program.
    package var contact: ContactDescription?
    package var hasVideo = false
    /// Actions that its application supports, in the words of `RegisterProvider`'s option; in alphabetical order.
    package var capabilities: [String] = []
    /// Kinds of device that it may use, as reported by its application.
    package var routes = Route.allCases
    /// The camera as its application last reported it.
    package var camera: CameraDescription?
    /// Directions that its application requests, while a client is to agree; nil otherwise.
    package var requestedMedia: MediaDirections?
    /// Unique bus name of the program that waits for the consent to record it; nil when none does.
    package var recordingRequestedBy: String?
    /// The account that it belongs to.
    package var account = AccountDescription()
    /// Absolute path of a picture for programs that draw; empty for none.
    package var icon = ""
    /// Whether the microphone is muted, for all calls.
    package var isMuted = false
    package var audio = MediaDirection.sendReceive
    package var video = MediaDirection.off
    /// Whether the far end gets the audio and video that its directions allow.
    package var isLocalAudioEnabled = true
    package var isLocalVideoEnabled = true
    /// How the far end hears the person, and what the talk keys have made of it.
    package var talkMode = TalkMode.off
    package var isTalking = false
    package var talkState = TalkState.off
    /// The key that has the floor, asks for it, or had it last; nil without one.
    package var talkHolder: String?

    package init(
        id: String, state: State, direction: Direction, number: String? = nil, name: String? = nil, provider: String,
        index: UInt8, startedAt: UInt64 = 0
    ) {
        self.id = id
        self.state = state
        status = CallStatusWord(state, isCarried: false, audio: .sendReceive)
        self.direction = direction
        self.number = number
        self.name = name
        self.provider = provider
        self.index = index
        self.startedAt = startedAt
    }

    package init(_ fields: Fields) throws(APIError) {
        id = try fields.string(BTCallName.Call.id)
        state = try fields.word(BTCallName.Call.state, of: State.self)
        direction = try fields.word(BTCallName.Call.direction, of: Direction.self)
        number = try fields.optionalString(BTCallName.Call.number)?.nonEmpty
        name = try fields.optionalString(BTCallName.Call.name)?.nonEmpty
        provider = try fields.optionalString(BTCallName.Call.provider) ?? ""
        index = try fields.optionalInteger(BTCallName.Call.index) ?? 0
        startedAt = try fields.optionalInteger(BTCallName.Call.startedAt) ?? 0
        ssrcs = try fields.integers(BTCallName.Call.ssrcs).compactMap { UInt32(exactly: $0) }
        link = try Self.part(BTCallName.Call.link, of: fields).map { fields throws(APIError) in
            try CallLinkDescription(fields)
        }
        quality = try Self.part(BTCallName.Call.qualityParts, of: fields).map { fields throws(APIError) in
            try QualityDescription(fields)
        }
        totalQuality = try Self.part(BTCallName.Call.qualityTotal, of: fields).map { fields throws(APIError) in
            try QualityDescription(fields)
        }
        audioProblem = try fields.optionalString(BTCallName.Call.audioProblem)?.nonEmpty
        isRecorded = try fields.optionalBool(BTCallName.Call.recording) ?? false
        handle = try fields.optionalString(BTCallName.Call.handle) ?? ""
        remoteAddress = try fields.optionalString(BTCallName.Call.remoteAddress) ?? ""
        contact = try Self.part(BTCallName.Call.contact, of: fields).map { fields throws(APIError) in
            try ContactDescription(fields)
        }
        hasVideo = try fields.optionalBool(BTCallName.Call.hasVideo) ?? false
        capabilities = try fields.strings(BTCallName.Call.capabilities)
        // Leaves out kinds that this version does not know.
        let known = try fields.strings(BTCallName.Call.routes).compactMap { Route(rawValue: $0) }
        routes = known.isEmpty ? Route.allCases : known
        camera = try Self.part(BTCallName.Call.camera, of: fields).map { fields throws(APIError) in
            try CameraDescription(fields)
        }
        requestedMedia = try Self.part(BTCallName.Call.requestedMedia, of: fields).map { fields throws(APIError) in
            try MediaDirections(fields)
        }
        recordingRequestedBy = try fields.optionalString(BTCallName.Call.recordingRequestedBy)?.nonEmpty
        account = AccountDescription(try Self.part(BTCallName.Call.account, of: fields)?.values ?? [:])
        icon = try fields.optionalString(BTCallName.Call.icon) ?? ""
        isMuted = try fields.optionalBool(BTCallName.Call.muted) ?? false
        audio = try fields.optionalWord(BTCallName.Call.audio, of: MediaDirection.self) ?? .sendReceive
        video = try fields.optionalWord(BTCallName.Call.video, of: MediaDirection.self) ?? .off
        isLocalAudioEnabled = try fields.optionalBool(BTCallName.Call.localAudioEnabled) ?? true
        isLocalVideoEnabled = try fields.optionalBool(BTCallName.Call.localVideoEnabled) ?? true
        talkMode = try fields.optionalWord(BTCallName.Call.talkMode, of: TalkMode.self) ?? .off
        isTalking = try fields.optionalBool(BTCallName.Call.talking) ?? false
        talkState = try fields.optionalWord(BTCallName.Call.talkState, of: TalkState.self) ?? .off
        talkHolder = try fields.optionalString(BTCallName.Call.talkHolder)?.nonEmpty
        // A word that this version does not know counts as the one that the state gives.
        let given = try fields.optionalString(BTCallName.Call.status).flatMap { CallStatusWord(rawValue: $0) }
        let usual = CallStatusWord(state, isCarried: link != nil, audio: audio)
        status = given ?? usual
    }

    /// - Returns: a property of type `a{sv}`; nil for an empty one.
    private static func part(_ name: String, of fields: Fields) throws(APIError) -> Fields? {
        guard let value = fields.values[name] else { return nil }
        let part = try Fields(value, of: name)
        return part.values.isEmpty ? nil : part
    }

    /// The properties that identify the other party, and the account. Signals to everybody include them only with
    /// `[privacy] callers = everybody`.
    package static let identity: Set = [
        BTCallName.Call.number, BTCallName.Call.name, BTCallName.Call.contact, BTCallName.Call.handle,
        BTCallName.Call.remoteAddress, BTCallName.Call.account,
    ]

    /// All properties by name, without those of ``identity``.
    package var publicProperties: [String: Value] { properties.filter { !Self.identity.contains($0.key) } }

    /// All properties by name.
    package var properties: [String: Value] {
        [
            BTCallName.Call.id: .string(id),
            BTCallName.Call.state: .string(state.rawValue),
            BTCallName.Call.status: .string(status.rawValue),
            BTCallName.Call.direction: .string(direction.rawValue),
            BTCallName.Call.number: .string(number ?? ""),
            BTCallName.Call.name: .string(name ?? ""),
            BTCallName.Call.provider: .string(provider),
            BTCallName.Call.index: .byte(index),
            BTCallName.Call.startedAt: .uint64(startedAt),
            BTCallName.Call.ssrcs: .array("u", ssrcs.map { .uint32($0) }),
            BTCallName.Call.link: .vardict(link?.fields ?? [:]),
            BTCallName.Call.quality: .int32(Int32(quality?.score ?? -1)),
            BTCallName.Call.qualityParts: .vardict(quality?.fields ?? [:]),
            BTCallName.Call.qualityTotal: .vardict(totalQuality?.fields ?? [:]),
            BTCallName.Call.audioProblem: .string(audioProblem ?? ""),
            BTCallName.Call.recording: .bool(isRecorded),
            BTCallName.Call.handle: .string(handle),
            BTCallName.Call.remoteAddress: .string(remoteAddress),
            BTCallName.Call.contact: .vardict(contact?.fields ?? [:]),
            BTCallName.Call.hasVideo: .bool(hasVideo),
            BTCallName.Call.capabilities: .strings(capabilities),
            BTCallName.Call.routes: .strings(routes.map(\.rawValue)),
            BTCallName.Call.camera: .vardict(camera?.fields ?? [:]),
            BTCallName.Call.requestedMedia: .vardict(requestedMedia?.fields ?? [:]),
            BTCallName.Call.recordingRequestedBy: .string(recordingRequestedBy ?? ""),
            BTCallName.Call.account: .vardict(account.fields),
            BTCallName.Call.icon: .string(icon),
            BTCallName.Call.muted: .bool(isMuted),
            BTCallName.Call.audio: .string(audio.rawValue),
            BTCallName.Call.video: .string(video.rawValue),
            BTCallName.Call.localAudioEnabled: .bool(isLocalAudioEnabled),
            BTCallName.Call.localVideoEnabled: .bool(isLocalVideoEnabled),
            BTCallName.Call.talkMode: .string(talkMode.rawValue),
            BTCallName.Call.talking: .bool(isTalking),
            BTCallName.Call.talkState: .string(talkState.rawValue),
            BTCallName.Call.talkHolder: .string(talkHolder ?? ""),
        ]
    }
}
