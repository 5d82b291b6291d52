import AudioDSP
package import BTCallAPI
package import BluetoothTypes
package import ControlLoop
package import DBus
package import Routing
package import Telephony

/// One call as the bus shows it: the table's call with its object, its owner and its audio.
@ControlPlane
package final class CallRecord {
    package let identifier: CallID
    /// The text of a random UUID: the same for the life of the call, never used again.
    package let uuid: String
    package let provider: any CallOwner
    package internal(set) var call: Call
    package internal(set) var appearedAt = WallClock.now
    /// Milliseconds since 1970 at which it became active; 0 before.
    package internal(set) var startedAt: UInt64 = 0
    /// The same on the monotonic clock; nil before.
    package private(set) var answeredAt: Instant?
    /// How it was answered, for the policy; set when the request is made and used when the call becomes active.
    package var answeredVia: AnsweredVia?
    /// Whether the engine exchanges audio with the provider for it.
    package var hasAudio = false
    /// As its application has told them.
    package private(set) var ssrcs: [UInt32] = []
    /// What became of its audio, for whoever watches it.
    package internal(set) var history: CallHistory?
    /// Why nobody hears it, for people; nil: nothing is known to be in the way.
    package internal(set) var audioProblem: String?
    /// Its application exchanges no audio: what a device does to it is not known.
    package internal(set) var isUnexchanged = false
    /// The application has closed its end of the audio.
    package internal(set) var isAudioClosed = false
    /// What the application said when it was given the audio, where that failed.
    package internal(set) var audioRefusal: String?
    /// A program has a copy of it.
    package internal(set) var isRecorded = false
    /// What a program knows of the other party.
    package internal(set) var contact: ContactDescription?
    /// What clients were told last.
    package var shownState: CallState?
    /// With whom it is, as the bus had it last.
    package var shownIdentity: [String: Value] = [:]

    /// Why it could not be made, while the tone says so: it has ended for its application, and soon for all.
    package internal(set) var failure: CallEndReason?
    package var failureTimer: Timer?
    /// Which ways its audio and video go.
    package internal(set) var media = MediaState()
    /// As its application has been told.
    package var isToldMuted = false

    package init(call: Call, provider: any CallOwner) {
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
        description.ssrcs = ssrcs
        description.isRecorded = isRecorded
        description.audioProblem = audioProblem
        description.handle = call.details.number.map { CallAddress($0).uri } ?? ""
        description.remoteAddress = call.details.remoteAddress ?? description.handle
        description.contact = contact
        description.hasVideo = call.details.hasVideo || media.video != .off
        description.capabilities = call.capabilities.words
        description.audio = media.audio
        description.video = media.video
        description.isLocalAudioEnabled = media.isLocalAudioEnabled
        description.isLocalVideoEnabled = media.isLocalVideoEnabled
        description.link = history?.carrier.flatMap { CallLinkDescription($0) }
        if let history, !history.isEmpty {
            if !isUnexchanged { description.quality = QualityDescription(history.meter.recent) }
            description.totalQuality = QualityDescription(history.meter.total)
        }
        return description
    }

    /// - Returns: whether that is a change; a call that has ended keeps what it had.
    package func setSynchronisationSources(_ sources: [UInt32]) -> Bool {
        guard sources != ssrcs, !call.state.isEnded else { return false }
        ssrcs = sources
        return true
    }

    /// Whether there is audio to be heard: early media, and the call itself.
    package var hasSpeech: Bool { (call.state == .active || call.state == .alerting) && failure == nil }

    /// - Parameter since: nil: from now on.
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
