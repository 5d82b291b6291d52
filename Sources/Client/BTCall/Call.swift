import BTCallAPI

/// One call, as it is at a moment.
public struct Call: Hashable, Sendable, Identifiable {
    /// The same for the life of the call: the text of a UUID.
    public struct ID: Hashable, Sendable, CustomStringConvertible {
        let path: String
        public let description: String

        init(path: String) {
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

    public enum Direction: String, Hashable, Sendable, CaseIterable {
        case incoming, outgoing
    }

    /// Why a call is over.
    public enum EndReason: String, Hashable, Sendable, CaseIterable {
        case localHangUp, remoteHangUp, rejected, missed, answeredElsewhere, cancelled
        case busy, notFound, timedOut, error, transferred, providerGone
    }

    public let id: ID
    public let state: State
    public let direction: Direction
    /// Nil when it is withheld or unknown, and for programs that may not know it (`[privacy] callers`): neither root nor in the
    /// group `btcall`. The same holds for ``name``, ``contact``, ``handle`` and ``remoteAddress``.
    public let number: String?
    /// The other party's name; nil when unknown.
    public let name: String?
    /// What a program knows of the other party (``CallBridge/resolveContactInfo(_:)``); nil when none does.
    public let contact: ContactInfo?
    /// The application that owns the call.
    public let provider: String
    /// The number that headsets use for the call, from 1.
    public let index: Int
    /// When it became active, in milliseconds since 1970-01-01 00:00 UTC; nil before that.
    public let startedAtMs: Int64?
    /// The synchronisation sources of its RTP streams, as far as its application has told them.
    public let ssrcs: [UInt32]
    /// What carries its audio; nil while nothing does.
    public let link: CallLink?
    /// How good its audio was in the last five seconds that it had any; nil before.
    public let quality: CallQuality?
    /// The same since the call has audio.
    public let totalQuality: CallQuality?
    /// Why nobody hears it, for people; nil: nothing is known to be in the way.
    public let audioProblem: String?
    /// A program has a copy of it.
    public let isRecorded: Bool
    /// The other party's address with its scheme, as `tel:+4930123456`; nil when the number is withheld or unknown.
    public let handle: String?
    /// The far end's address as the call's application knows it; the handle when it has told none.
    public let remoteAddress: String?
    public let hasVideo: Bool
    /// What its application can do with it.
    public let capabilities: Set<CallProviderDescription.Capability>
    /// Which ways its audio and video go.
    public let media: CallMedia
    /// Whether the far end hears and sees the person, as far as `media` lets it.
    public let isLocalAudioEnabled: Bool
    public let isLocalVideoEnabled: Bool
    /// The microphone is muted, for all calls.
    public let isMuted: Bool

    init(_ description: CallDescription) {
        id = ID(text: description.id)
        state = State(description.state)
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
        media = CallMedia(description.audio, description.video)
        isLocalAudioEnabled = description.isLocalAudioEnabled
        isLocalVideoEnabled = description.isLocalVideoEnabled
        isMuted = description.isMuted
    }
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
