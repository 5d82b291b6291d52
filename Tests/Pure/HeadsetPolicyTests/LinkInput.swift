import BluetoothTypes
import HeadsetPolicy

/// An input of a voice link, as a value.
enum LinkInput: Hashable {
    case requested(attempt: Int)
    case closeRequested, roomMade, heard, silent, resumed, sessionEnded
    case connect(VoiceCodec)
    case accept(VoiceCodec)
    case disconnect
    case negotiationFailed(AudioFailure)
    case turnCame, turnRefused, linkCame
    case openingFailed(AudioFailure)
    case firstPacket
    case ended(VoiceLink.End)
    case deadline

    static let limit = Duration.seconds(5)

    func apply(to link: inout VoiceLink, at now: Instant) -> [VoiceLink.Action] {
        switch self {
        case .requested(let attempt):
            return link.requested(hint: nil, attempt: attempt, limit: Self.limit, at: now)
        case .closeRequested: return link.closeRequested(at: now)
        case .roomMade: return link.roomMade(at: now)
        case .heard: return link.heard(at: now)
        case .silent: link.fellSilent()
        case .resumed: link.resumed()
        case .sessionEnded: return link.sessionEnded(at: now)
        case .connect(let codec): return link.connect(codec)
        case .accept(let codec): return link.accept(codec)
        case .disconnect: return link.disconnect(at: now)
        case .negotiationFailed(let failure): return link.negotiationFailed(failure)
        case .turnCame: return link.turnCame(at: now)
        case .turnRefused: return link.turnRefused()
        case .linkCame: return link.linkCame(at: now)
        case .openingFailed(let failure): return link.openingFailed(failure, at: now)
        case .firstPacket: return link.firstPacketCame()
        case .ended(let end): return link.linkEnded(end, at: now)
        case .deadline: return link.deadlineReached(at: now)
        }
        return []
    }
}

extension VoiceLink {
    /// The state's name in the tables.
    var name: String {
        switch state {
        case .closed: "closed"
        case .waiting(.silence, _): "silence"
        case .waiting(.music, _): "music"
        case .agreeing: "agreeing"
        case .queued: "queued"
        case .opening: "opening"
        case .blocked: "blocked"
        case .awaitingFirstPacket: "awaiting"
        case .open: "open"
        case .closing(.reopen): "reclosing"
        case .closing: "closing"
        case .abandoned(_, .none): "abandoned"
        case .abandoned(_, .report): "withdrawn"
        case .abandoned(_, .reopen): "rewanted"
        case .abandoned(_, .over): "orphaned"
        case .gracePeriod: "grace"
        case .over: "over"
        }
    }
}
