import BTCallAPI
import DBus

/// The functions of a telephony application that carry out requests from headsets, handsets and command lines.
///
/// Returning from a function fulfils the request; throwing refuses it, and btcalld tells the headset so. The daemon waits
/// five seconds. The functions are called on the bridge's own thread unless an actor implements them; none may block. A
/// request for a call may arrive before the report of that call has returned its id.
public protocol CallProvider: Sendable {
    /// Begin a dialled call, which already exists, and report its progress with
    /// ``ProviderRegistration/update(_:_:reason:)``. When this returns, the call is dialling. Only with the capability
    /// `dial`.
    func performStart(_ call: Call.ID, number: String) async throws(ProviderRefusal)
    /// Answer the call. When this returns, the daemon makes it active and sends its audio.
    func performAnswer(_ call: Call.ID) async throws(ProviderRefusal)
    /// The same with directions of audio and video, as seen from here; by default ``performStart(_:number:)``.
    func performStart(_ call: Call.ID, number: String, media: CallMedia) async throws(ProviderRefusal)
    /// The same with directions of audio and video, as seen from here; by default ``performAnswer(_:)``.
    func performAnswer(_ call: Call.ID, media: CallMedia) async throws(ProviderRefusal)
    /// The same with the account that is configured; by default ``performStart(_:number:media:)``.
    func performStart(
        _ call: Call.ID, number: String, media: CallMedia, account: CallAccount
    ) async throws(ProviderRefusal)
    /// The same with the account that is configured; by default ``performAnswer(_:media:)``.
    func performAnswer(_ call: Call.ID, media: CallMedia, account: CallAccount) async throws(ProviderRefusal)
    /// Change the directions of audio and video.
    ///
    /// - Parameter isCameraOn: whether the far end may see the person, within the limits of `media`.
    func performMediaChange(_ call: Call.ID, _ media: CallMedia, isCameraOn: Bool) async throws(ProviderRefusal)
    /// End or reject the call. When this returns, the daemon regards it as ended.
    ///
    /// - Parameter reason: `localHangUp`, `rejected`, or `missed` when nobody answered in time.
    func performEnd(_ call: Call.ID, reason: String) async throws(ProviderRefusal)
    /// Hold the call, or resume it. Only with the capability `hold`.
    func performSetHeld(_ call: Call.ID, _ held: Bool) async throws(ProviderRefusal)
    /// Send tones to the far end. Return when they are accepted, not when they have been played. Only with the capability
    /// `dtmf`.
    ///
    /// - Parameter tones: 1 to 64 of `0123456789ABCD*#`, in their order.
    func performDTMF(_ call: Call.ID, tones: String) async throws(ProviderRefusal)
    /// The person was muted or unmuted; a muted call's audio arrives silent already. Only with the capability `mute`.
    func performSetMuted(_ call: Call.ID, _ muted: Bool) async throws(ProviderRefusal)
    /// A talk key is pressed: return to let the person talk, refuse to keep the microphone closed; or the person no longer
    /// talks. btcalld waits half a second. Only with the capability `talk`, in a call with a talk mode.
    func performTalk(_ call: Call.ID, _ pressed: Bool) async throws(ProviderRefusal)
    /// Hold one call and resume the other. Only with the capability `swap`.
    func performSwap(hold: Call.ID, resume: Call.ID) async throws(ProviderRefusal)
    /// Join these calls into one conversation; all become active. Only with the capability `conference`.
    func performConference(_ calls: [Call.ID]) async throws(ProviderRefusal)
    /// The call's audio begins, or resumes after hold.
    func audioReady(_ call: Call.ID, _ audio: CallAudio) async
    /// The daemon has dropped the registration, or has gone; all calls have ended.
    func released() async
}

extension CallProvider {
    public func performStart(_ call: Call.ID, number: String, media: CallMedia) async throws(ProviderRefusal) {
        try await performStart(call, number: number)
    }

    public func performAnswer(_ call: Call.ID, media: CallMedia) async throws(ProviderRefusal) {
        try await performAnswer(call)
    }

    public func performStart(
        _ call: Call.ID, number: String, media: CallMedia, account: CallAccount
    ) async throws(ProviderRefusal) {
        try await performStart(call, number: number, media: media)
    }

    public func performAnswer(
        _ call: Call.ID, media: CallMedia, account: CallAccount
    ) async throws(ProviderRefusal) {
        try await performAnswer(call, media: media)
    }

    public func performMediaChange(
        _ call: Call.ID, _ media: CallMedia, isCameraOn: Bool
    ) async throws(ProviderRefusal) {
        throw ProviderRefusal.notSupported("this application does not change the media of calls")
    }

    public func performStart(_ call: Call.ID, number: String) async throws(ProviderRefusal) {
        throw ProviderRefusal.notSupported("this application does not dial")
    }

    public func performSetHeld(_ call: Call.ID, _ held: Bool) async throws(ProviderRefusal) {
        throw ProviderRefusal.notSupported("this application does not hold calls")
    }

    public func performDTMF(_ call: Call.ID, tones: String) async throws(ProviderRefusal) {
        throw ProviderRefusal.notSupported("this application does not send tones")
    }

    public func performSetMuted(_ call: Call.ID, _ muted: Bool) async throws(ProviderRefusal) {}

    public func performTalk(_ call: Call.ID, _ pressed: Bool) async throws(ProviderRefusal) {
        throw ProviderRefusal.notSupported("this application does not decide who talks")
    }

    public func performSwap(hold: Call.ID, resume: Call.ID) async throws(ProviderRefusal) {
        try await performSetHeld(hold, true)
        try await performSetHeld(resume, false)
    }

    public func performConference(_ calls: [Call.ID]) async throws(ProviderRefusal) {
        throw ProviderRefusal.notSupported("this application does not join calls")
    }

    public func released() async {}
}

/// An application's reason for refusing a request.
public struct ProviderRefusal: Error, Hashable, Sendable, CustomStringConvertible {
    let code: APIError.Code
    public let description: String

    /// The application never supports the request.
    public static func notSupported(_ message: String) -> ProviderRefusal {
        ProviderRefusal(code: .notSupported, description: message)
    }

    /// The application does not know the call.
    public static func noSuchCall(_ message: String) -> ProviderRefusal {
        ProviderRefusal(code: .noSuchCall, description: message)
    }

    /// The application tried and failed.
    public static func failed(_ message: String) -> ProviderRefusal {
        ProviderRefusal(code: .providerFailed, description: message)
    }

    var busError: BusError { APIError(code, description).busError }
}

/// A telephony application's description of itself.
public struct CallProviderDescription: Hashable, Sendable {
    public enum Capability: String, Hashable, Sendable, CaseIterable {
        case hold, swap, conference, dtmf, mute, dial, video, talk
    }

    /// Transport of the calls' audio to the application.
    public enum Audio: Hashable, Sendable {
        /// Through ``CallProvider/audioReady(_:_:)``.
        case socket
        /// Through the ALSA PCM `btcall:call`, which the application plays and records on; btcalld never calls
        /// ``CallProvider/audioReady(_:_:)`` and ignores rate, format and channels.
        case pcm
    }

    /// The application's name for people.
    public var name: String
    public var audio = Audio.socket
    /// Sample rate of the call's audio in Hz: 8000, 16000, 24000, 32000, 44100 or 48000.
    public var rate: Int
    public var sampleFormat: CallAudio.SampleFormat
    /// 1 or 2. Both receive the same audio; of returned audio btcalld uses their mean.
    public var channels: Int
    public var capabilities: Set<Capability>
    /// Whether the application reports call states. False for announcements, and for an application that does not know the
    /// state of its calls: it reports an outgoing call while it has audio. btcalld does not show these calls to headsets;
    /// the daemon's setting `virtualCall` says what headsets see instead.
    public var hasCallState: Bool
    /// Schemes of the addresses that it dials, for example `sip`, `tel`, `intercom`; plain numbers are `tel`. When empty,
    /// btcalld asks it for any address that no other application claims.
    public var schemes: [String] = []
    /// How the far ends of its calls hear the person; nil: as configured (`[talk] mode`).
    public var talk: TalkMode?

    public init(
        name: String, rate: Int = 16000, sampleFormat: CallAudio.SampleFormat = .s16, channels: Int = 1,
        capabilities: Set<Capability> = [], hasCallState: Bool = true
    ) {
        self.hasCallState = hasCallState
        self.name = name
        self.rate = rate
        self.sampleFormat = sampleFormat
        self.channels = channels
        self.capabilities = capabilities
    }

    var options: ProviderOptions {
        var options = ProviderOptions(
            name: name, audio: audio == .pcm ? .pcm : .descriptor,
            format: AudioFormat(rate: rate, sample: sampleFormat.sample, channels: channels),
            capabilities: capabilities.words,
            hasCallState: hasCallState)
        options.schemes = schemes
        options.talk = talk?.word
        return options
    }
}

extension Set<CallProviderDescription.Capability> {
    /// The capabilities as written on the bus.
    var words: Set<ProviderOptions.Capability> {
        Set<ProviderOptions.Capability>(compactMap { ProviderOptions.Capability(rawValue: $0.rawValue) })
    }
}

/// The audio of a call: a duplex socket, one message for each 10 ms, in the requested format.
///
/// The daemon is the clock: send one block for each block received. End of file is the end of the audio, not of the call.
public typealias CallAudio = AudioSocket
