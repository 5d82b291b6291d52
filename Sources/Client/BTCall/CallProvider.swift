import BTCallAPI
import DBus

/// A telephony application's answers to what people ask for at a headset, a handset or a command line.
///
/// Returning from a function fulfils the request; throwing refuses it, and the headset is told so. The daemon waits five
/// seconds. The functions are called on the bridge's own thread unless an actor implements them: none may block. A request
/// for a call may come before the report of that call has returned its id.
public protocol CallProvider: Sendable {
    /// Someone dialled: the call exists already; begin it, and report what becomes of it with
    /// ``ProviderRegistration/update(_:_:reason:)``. When this returns, the call is dialling.
    func performStart(_ call: Call.ID, number: String) async throws(ProviderRefusal)
    /// Answer the call. When this returns, the daemon makes it active and sends its audio.
    func performAnswer(_ call: Call.ID) async throws(ProviderRefusal)
    /// The same with the ways that audio and video are to go, as seen from here; by default ``performStart(_:number:)``.
    func performStart(_ call: Call.ID, number: String, media: CallMedia) async throws(ProviderRefusal)
    /// The same with the ways that audio and video are to go, as seen from here; by default ``performAnswer(_:)``.
    func performAnswer(_ call: Call.ID, media: CallMedia) async throws(ProviderRefusal)
    /// Let audio and video go these ways.
    /// - isCameraOn: whether the far end is to see the person, as far as `media` lets it.
    func performMediaChange(_ call: Call.ID, _ media: CallMedia, isCameraOn: Bool) async throws(ProviderRefusal)
    /// End or reject the call. When this returns, the daemon has it ended.
    func performEnd(_ call: Call.ID, reason: String) async throws(ProviderRefusal)
    func performSetHeld(_ call: Call.ID, _ held: Bool) async throws(ProviderRefusal)
    /// - tones: any of `0123456789ABCD*#`.
    func performDTMF(_ call: Call.ID, tones: String) async throws(ProviderRefusal)
    /// The person cannot be heard, or can again: what comes as audio is silent already. Only with the capability `mute`.
    func performSetMuted(_ call: Call.ID, _ muted: Bool) async throws(ProviderRefusal)
    /// Hold one call and take the other one up. Only with the capability `swap`.
    func performSwap(hold: Call.ID, resume: Call.ID) async throws(ProviderRefusal)
    /// Make one conversation of these calls, all of which are active then. Only with the capability `conference`.
    func performConference(_ calls: [Call.ID]) async throws(ProviderRefusal)
    /// The call's audio begins, or begins again after it was held.
    func audioReady(_ call: Call.ID, _ audio: CallAudio) async
    /// The daemon has dropped the registration, or has gone; all calls are over.
    func released() async
}

extension CallProvider {
    public func performStart(_ call: Call.ID, number: String, media: CallMedia) async throws(ProviderRefusal) {
        try await performStart(call, number: number)
    }

    public func performAnswer(_ call: Call.ID, media: CallMedia) async throws(ProviderRefusal) {
        try await performAnswer(call)
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

    public func performSwap(hold: Call.ID, resume: Call.ID) async throws(ProviderRefusal) {
        try await performSetHeld(hold, true)
        try await performSetHeld(resume, false)
    }

    public func performConference(_ calls: [Call.ID]) async throws(ProviderRefusal) {
        throw ProviderRefusal.notSupported("this application does not join calls")
    }

    public func released() async {}
}

/// Why an application does not do what it was asked.
public struct ProviderRefusal: Error, Hashable, Sendable, CustomStringConvertible {
    let code: APIError.Code
    public let description: String

    /// It cannot do that, ever.
    public static func notSupported(_ message: String) -> ProviderRefusal {
        ProviderRefusal(code: .notSupported, description: message)
    }

    /// It knows no such call.
    public static func noSuchCall(_ message: String) -> ProviderRefusal {
        ProviderRefusal(code: .noSuchCall, description: message)
    }

    /// It tried, and it did not work.
    public static func failed(_ message: String) -> ProviderRefusal {
        ProviderRefusal(code: .providerFailed, description: message)
    }

    var busError: BusError { APIError(code, description).busError }
}

/// What a telephony application says about itself.
public struct CallProviderDescription: Hashable, Sendable {
    public enum Capability: String, Hashable, Sendable, CaseIterable {
        case hold, swap, conference, dtmf, mute, dial, video
    }

    /// How the application gets the audio of its calls.
    public enum Audio: Hashable, Sendable {
        /// By ``CallProvider/audioReady(_:_:)``.
        case socket
        /// It plays and records on the ALSA PCM `btcall:call`; ``CallProvider/audioReady(_:_:)`` is never called, and rate,
        /// format and channels mean nothing.
        case pcm
    }

    /// What people call the application.
    public var name: String
    public var audio = Audio.socket
    /// Frames per second of the call's audio: 8000, 16000, 24000, 32000, 44100 or 48000.
    public var rate: Int
    public var sampleFormat: CallAudio.SampleFormat
    /// 1 or 2. Both get the same; of what comes back their mean is taken.
    public var channels: Int
    public var capabilities: Set<Capability>
    /// False for announcements, and for an application that does not know what becomes of its calls: it reports an outgoing
    /// call while it has audio. Headsets are not shown these calls; the daemon's setting `virtualCall` says what they are
    /// shown instead.
    public var hasCallState: Bool
    /// The schemes of the addresses that it dials, as `sip`, `tel`, `intercom`; plain numbers are `tel`. Empty: it does not say,
    /// and is asked for any address that nobody else takes.
    public var schemes: [String] = []

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
        return options
    }
}

extension Set<CallProviderDescription.Capability> {
    /// As the bus has them.
    var words: Set<ProviderOptions.Capability> {
        Set<ProviderOptions.Capability>(compactMap { ProviderOptions.Capability(rawValue: $0.rawValue) })
    }
}

/// The audio of a call: a duplex socket, one message for each 10 ms, in the format that was asked for.
///
/// The daemon is the clock: send one block for each block received. End of file is the end of the audio, not of the call.
public typealias CallAudio = AudioSocket
