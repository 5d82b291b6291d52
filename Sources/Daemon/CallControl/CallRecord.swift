import AudioDSP
package import BTCallAPI
package import BluetoothTypes
package import ControlLoop
package import DBus
package import Routing
package import Talk
package import TalkWords
package import Telephony

/// One call as the bus shows it: the table's call with its object, its owner and its audio.
@ControlPlane
package final class CallRecord {
    package let identifier: CallID
    /// Text of a random UUID: constant for the lifetime of the call, never used again.
    package let uuid: String
    package let provider: any CallOwner
    package internal(set) var call: Call
    package internal(set) var appearedAt = WallClock.now
    /// Milliseconds since 1970 at which it became active; 0 before.
    package internal(set) var startedAt: UInt64 = 0
    /// The same moment on the monotonic clock; nil before.
    package private(set) var answeredAt: Instant?
    /// When it ended, as its application reported; nil: when btcalld learned of it.
    package internal(set) var endedAt: WallClock?
    /// How it was answered, for the policy; set when the request is made and used when the call becomes active.
    package var answeredVia: AnsweredVia?
    /// Whether the engine exchanges audio with the provider for it.
    package var hasAudio = false
    /// RTP synchronisation sources, as reported by the application.
    package private(set) var ssrcs: [UInt32] = []
    /// History of its audio, for `CallQualityMonitor`.
    package internal(set) var history: CallHistory?
    /// Why nobody hears the call, in words for people; nil: no obstacle is known.
    package internal(set) var audioProblem: String?
    /// Whether its application exchanges no audio, so that the device's quality is unknown.
    package internal(set) var isUnexchanged = false
    /// Whether the application has closed its end of the audio.
    package internal(set) var isAudioClosed = false
    /// The application's message when it refused the audio.
    package internal(set) var audioRefusal: String?
    /// Whether a program records it.
    package internal(set) var isRecorded = false
    /// The other party, if a program knows it.
    package internal(set) var contact: ContactDescription?
    /// The state that clients were last notified of.
    package var shownState: CallState?
    /// The status as last sent to the bus as a property.
    package var shownStatus: CallStatusWord?
    /// The status in the last `StatusChanged`.
    package var announcedStatus: CallStatusWord?
    /// Runs while a status without a device is not announced yet.
    package var statusTimer: Timer?
    /// The other party's properties as last sent to the bus.
    package var shownIdentity: [String: Value] = [:]

    /// Why the call could not be made; set while the failure tone plays: the call has ended for its application, but not for
    /// the others yet.
    package internal(set) var failure: CallEndReason?
    package var failureTimer: Timer?
    /// Directions of its audio and video.
    package internal(set) var media = MediaState()
    /// How its far end hears the person, as its application reported; nil: as registered or configured.
    package internal(set) var ownTalkMode: TalkMode?
    /// How its far end hears the person.
    package internal(set) var talkMode = TalkMode.off
    /// What the talk keys have made of it.
    package internal(set) var talking = Talking.off
    /// Kinds of device that it may use; nil for all.
    package internal(set) var routes: [CallDescription.Route]?
    /// The camera as its application last reported it.
    package var camera: CameraDescription?
    /// Directions that its application requests, while a client is to agree.
    package var requestedMedia: MediaState?
    /// Bus name of the program that waits longest for the consent to record it.
    package var recordingRequestedBy: String?
    /// The account and the picture that were configured when it appeared.
    package let account: AccountDescription
    package let icon: String
    /// Whether its application was last notified that it is muted.
    package var isNotifiedMuted = false

    package init(
        call: Call, provider: any CallOwner, account: AccountDescription = AccountDescription(), icon: String = ""
    ) {
        self.account = account
        self.icon = icon
        identifier = call.id
        uuid = Self.randomUUID()
        self.call = call
        self.provider = provider
    }

    package var path: String { BTCallPath.call(uuid) }
    package var audioIdentifier: UInt32 { identifier.value }

    package var description: CallDescription {
        var description = CallDescription(
            id: uuid, state: Self.word(call.state), direction: call.direction == .incoming ? .incoming : .outgoing,
            number: call.details.number, name: call.details.name, provider: provider.name, index: UInt8(call.index),
            startedAt: startedAt)
        description.status = status
        description.ssrcs = ssrcs
        description.isRecorded = isRecorded
        description.audioProblem = audioProblem
        description.handle = call.details.number.map { CallAddress($0).uri } ?? ""
        description.remoteAddress = call.details.remoteAddress ?? description.handle
        description.contact = contact
        description.hasVideo = call.details.hasVideo || media.video != .off
        description.capabilities = call.capabilities.words
        description.routes = routes ?? CallDescription.Route.allCases
        description.camera = camera
        description.requestedMedia = requestedMedia.map { MediaDirections(audio: $0.audio, video: $0.video) }
        description.recordingRequestedBy = recordingRequestedBy
        description.account = account
        description.icon = icon
        description.audio = media.audio
        description.video = media.video
        description.isLocalAudioEnabled = media.isLocalAudioEnabled
        description.isLocalVideoEnabled = media.isLocalVideoEnabled
        description.talkMode = talkMode
        description.isTalking = talking.isOpen
        description.talkState = talking.state
        description.talkHolder = talking.holder?.description
        description.link = history?.carrier.flatMap { CallLinkDescription($0) }
        if let history, !history.isEmpty {
            if !isUnexchanged { description.quality = QualityDescription(history.meter.recent) }
            description.totalQuality = QualityDescription(history.meter.total)
        }
        return description
    }

    /// - Returns: whether they changed; a call that has ended keeps its sources.
    package func setSynchronisationSources(_ sources: [UInt32]) -> Bool {
        guard sources != ssrcs, !call.state.isEnded else { return false }
        ssrcs = sources
        return true
    }

    /// Whether the call has audio: early media, or the call itself.
    package var hasSpeech: Bool { (call.state == .active || call.state == .alerting) && failure == nil }

    /// Whether the far end hears the uplink.
    package var speaks: Bool { media.speaks && (talkMode == .off || talking.isOpen) }

    /// Its progress in one word.
    package var status: CallStatusWord {
        if case .ended(let reason) = call.state { return CallStatusWord(endedBecause: reason.rawValue) }
        if let failure { return CallStatusWord(endedBecause: failure.rawValue) }
        return CallStatusWord(Self.word(call.state), isCarried: history?.carrier != nil, audio: media.audio)
    }

    /// Kinds of device that it may use, for the policy; nil for all.
    package var deviceKinds: [DeviceKind]? { routes?.compactMap { DeviceKind(rawValue: $0.rawValue) } }

    /// - Parameter since: time of the answer; nil: now.
    package func markStarted(since: Instant?) {
        guard startedAt == 0 else { return }
        let instant = since ?? ControlLoop.now
        answeredAt = instant
        startedAt = UInt64(clamping: WallClock.at(instant).milliseconds)
    }

    package static func word(_ state: CallState) -> CallDescription.State {
        switch state {
        case .setup, .dialing: .dialing
        case .alerting: .alerting
        case .incoming: .ringing
        case .waiting: .waiting
        case .active: .active
        case .held: .held
        case .ended: .ended
        }
    }

    /// Version 4 of RFC 9562.
    private static func randomUUID() -> String {
        var generator = SystemRandomNumberGenerator()
        let high = generator.next() & 0xFFFF_FFFF_FFFF_0FFF | 0x4000
        let low = generator.next() & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
        func digits(_ number: UInt64) -> String {
            let text = String(number, radix: 16)
            return String(repeating: "0", count: 16 - text.count) + text
        }
        let all = Array(digits(high) + digits(low))
        return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(all[$0]) }.joined(separator: "-")
    }
}
