import BTCallAPI

/// A snapshot of one call.
public struct Call: Hashable, Sendable, Identifiable {
    /// Text of a UUID; the same for the whole call.
    public struct ID: Hashable, Sendable, CustomStringConvertible {
        let path: String
        public let description: String

        package init(path: String) {
            self.path = path
            description = BTCallPath.callID(at: path) ?? path
        }

        init(text: String) {
            path = BTCallPath.call(text)
            description = text
        }
    }

    public enum State: String, Hashable, Sendable, CaseIterable {
        case dialing, alerting, ringing, waiting, active, held, ended
    }

    /// A kind of device that a call may use.
    public enum Route: String, Hashable, Sendable, CaseIterable {
        case speakerphone, wiredHeadset, earpiece, bluetooth
    }

    public enum Direction: String, Hashable, Sendable, CaseIterable {
        case incoming, outgoing
    }

    /// Reason why a call ended.
    public enum EndReason: String, Hashable, Sendable, CaseIterable {
        case localHangUp, remoteHangUp, rejected, missed, answeredElsewhere, cancelled
        case busy, notFound, timedOut, error, transferred, providerGone
    }

    public let id: ID
    public let state: State
    /// Its progress in one value. It includes an outcome only while the failure tone of an outgoing call plays: a call that
    /// has ended is no longer listed.
    public let status: CallStatus
    public let direction: Direction
    /// Nil when it is withheld or unknown, and for programs that may not see it (`[privacy] callers`): neither root nor in
    /// the group `btcall`. The same holds for ``name``, ``contact``, ``handle`` and ``remoteAddress``.
    public let number: String?
    /// The other party's name; nil when unknown.
    public let name: String?
    /// Contact data from a program (``CallBridge/resolveContactInfo(_:)``); nil when no program has any.
    public let contact: ContactInfo?
    /// The application that owns the call.
    public let provider: String
    /// Index of the call for headsets, from 1.
    public let index: Int
    /// When it became active, in milliseconds since 1970-01-01 00:00 UTC; nil before that.
    public let startedAtMs: Int64?
    /// Synchronisation sources of its RTP streams, as reported by its application.
    public let ssrcs: [UInt32]
    /// The device that carries its audio; nil while none does.
    public let link: CallLink?
    /// Audio quality over the last five seconds that had audio; nil before.
    public let quality: CallQuality?
    /// Audio quality since the call has had audio.
    public let totalQuality: CallQuality?
    /// Reason why nobody hears the call, for people; nil when no obstacle is known.
    public let audioProblem: String?
    /// Whether a program has a copy of the call.
    public let isRecorded: Bool
    /// The other party's address with its scheme, for example `tel:+4930123456`; nil when the number is withheld or unknown.
    public let handle: String?
    /// The far end's address as reported by the call's application; otherwise the handle.
    public let remoteAddress: String?
    public let hasVideo: Bool
    /// Actions that its application supports.
    public let capabilities: Set<CallProviderDescription.Capability>
    /// Kinds of device that it may use, as its application reported; in the order of `Route.allCases`.
    public let routes: [Route]
    /// The camera as its application last reported it; nil before the first report.
    public let camera: CameraSettings?
    /// Directions that its application requests and that wait for ``Calls/answerMediaChange(of:_:)``; nil otherwise.
    public let requestedMedia: CallMedia?
    /// Unique bus name of the program that waits for ``BridgeAudio/allowRecording(of:_:)``; nil when none does.
    public let recordingRequestedBy: String?
    /// The account that it belongs to; empty for programs that may not see ``number``.
    public let account: CallAccount
    /// Absolute path of a picture to show with it; nil when none is configured.
    public let icon: String?
    /// Directions of its audio and video.
    public let media: CallMedia
    /// Whether the far end hears and sees the person, within the limits of `media`.
    public let isLocalAudioEnabled: Bool
    public let isLocalVideoEnabled: Bool
    /// Whether the microphone is muted, for all calls.
    public let isMuted: Bool
    /// How the far end hears the person.
    public let talkMode: TalkMode
    /// What the talk keys have made of the call.
    public let talkState: TalkState
    /// Whether a talk key has opened the microphone; false without a talk mode.
    public let isTalking: Bool
    /// The key that has the floor, asks for it or had it last, for people: `headset AA:BB:CC:DD:EE:FF`; nil without one.
    public let talkHolder: String?

    init(_ description: CallDescription) {
        id = ID(text: description.id)
        state = State(description.state)
        status = CallStatus(description.status)
        direction =
            switch description.direction {
            case .incoming: .incoming
            case .outgoing: .outgoing
            }
        number = description.number
        name = description.name
        contact = description.contact.map { ContactInfo($0) }
        provider = description.provider
        index = Int(description.index)
        startedAtMs = description.startedAt == 0 ? nil : Int64(clamping: description.startedAt)
        ssrcs = description.ssrcs
        link = description.link.map { CallLink($0) }
        quality = description.quality.map { CallQuality($0) }
        totalQuality = description.totalQuality.map { CallQuality($0) }
        audioProblem = description.audioProblem
        isRecorded = description.isRecorded
        handle = description.handle.nonEmpty
        remoteAddress = description.remoteAddress.nonEmpty
        hasVideo = description.hasVideo
        capabilities = Set(description.capabilities.compactMap { CallProviderDescription.Capability(rawValue: $0) })
        routes = Route.allCases.filter { route in description.routes.contains { $0.rawValue == route.rawValue } }
        camera = description.camera.map { CameraSettings($0) }
        requestedMedia = description.requestedMedia.map { CallMedia($0.audio, $0.video) }
        recordingRequestedBy = description.recordingRequestedBy
        account = CallAccount(description.account)
        icon = description.icon.nonEmpty
        media = CallMedia(description.audio, description.video)
        isLocalAudioEnabled = description.isLocalAudioEnabled
        isLocalVideoEnabled = description.isLocalVideoEnabled
        isMuted = description.isMuted
        talkMode = TalkMode(description.talkMode)
        talkState = TalkState(description.talkState)
        isTalking = description.isTalking
        talkHolder = description.talkHolder
    }
}

extension Set<Call.Route> {
    /// The kinds as written on the bus, in a fixed order.
    var words: [CallDescription.Route] {
        CallDescription.Route.allCases.filter { word in contains { $0.rawValue == word.rawValue } }
    }
}

extension CallDescription.State {
    /// The state as written on the bus, where it has the same word.
    init(_ state: Call.State) { self = Self(rawValue: state.rawValue) ?? .ended }
}

extension Call.State {
    init(_ state: CallDescription.State) {
        switch state {
        case .dialing: self = .dialing
        case .alerting: self = .alerting
        case .ringing: self = .ringing
        case .waiting: self = .waiting
        case .active: self = .active
        case .held: self = .held
        case .ended: self = .ended
        }
    }
}
