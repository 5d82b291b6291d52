import BTCall
import CallExchange
import ControlLoop
import Glibc
import Synchronization

/// The policy has a type of the same name.
typealias Choice = DeviceChoice

/// A telephony application under the control of a test: records its requests, and fulfils, refuses or ignores them.
final class Telephone: CallProvider {
    enum Request: Hashable, Sendable {
        case start(String)
        case answer(Call.ID)
        case end(Call.ID, String)
        case held(Call.ID, Bool)
        case tones(String)
        case audio(Call.ID)
        case muted(Call.ID, Bool)
        case talk(Call.ID, Bool)
        case swap(hold: Call.ID, resume: Call.ID)
        case conference([Call.ID])
        case media(Call.ID, CallMedia, camera: Bool)
        case released
    }

    struct Format: Hashable, Sendable {
        var rate = 16000
        var sampleFormat = CallAudio.SampleFormat.s16
        var channels = 1
    }

    enum Manner: Sendable { case willing, refusing(String), silent }

    private struct State {
        var requests: [Request] = []
        var manner = Manner.willing
        var format: Format?
        var asked: [CallMedia] = []
    }

    /// The far end's audio, sent and received.
    let exchange = AudioExchange(FarEnd(samples: Tone.samples(16000), rate: 16000, loops: true), isRecording: true)
    private let state = Mutex(State())

    var requests: [Request] { state.withLock(\.requests) }
    /// The media of the requests to start and answer calls.
    var asked: [CallMedia] { state.withLock(\.asked) }
    /// Format of the latest audio.
    var format: Format? { state.withLock(\.format) }
    var manner: Manner {
        get { state.withLock(\.manner) }
        set { state.withLock { $0.manner = newValue } }
    }

    func performStart(_ call: Call.ID, number: String) async throws(ProviderRefusal) {
        try await perform(.start(number))
    }
    func performAnswer(_ call: Call.ID) async throws(ProviderRefusal) { try await perform(.answer(call)) }
    func performEnd(_ call: Call.ID, reason: String) async throws(ProviderRefusal) {
        try await perform(.end(call, reason))
    }
    func performSetHeld(_ call: Call.ID, _ held: Bool) async throws(ProviderRefusal) {
        try await perform(.held(call, held))
    }
    func performDTMF(_ call: Call.ID, tones: String) async throws(ProviderRefusal) { try await perform(.tones(tones)) }

    func performSetMuted(_ call: Call.ID, _ muted: Bool) async throws(ProviderRefusal) {
        try await perform(.muted(call, muted))
    }
    func performTalk(_ call: Call.ID, _ pressed: Bool) async throws(ProviderRefusal) {
        try await perform(.talk(call, pressed))
    }
    func performSwap(hold: Call.ID, resume: Call.ID) async throws(ProviderRefusal) {
        try await perform(.swap(hold: hold, resume: resume))
    }
    func performConference(_ calls: [Call.ID]) async throws(ProviderRefusal) { try await perform(.conference(calls)) }
    func performMediaChange(_ call: Call.ID, _ media: CallMedia, isCameraOn: Bool) async throws(ProviderRefusal) {
        try await perform(.media(call, media, camera: isCameraOn))
    }
    func performStart(_ call: Call.ID, number: String, media: CallMedia) async throws(ProviderRefusal) {
        state.withLock { $0.asked.append(media) }
        try await perform(.start(number))
    }
    func performAnswer(_ call: Call.ID, media: CallMedia) async throws(ProviderRefusal) {
        state.withLock { $0.asked.append(media) }
        try await perform(.answer(call))
    }

    func audioReady(_ call: Call.ID, _ audio: CallAudio) async {
        state.withLock {
            $0.requests.append(.audio(call))
            $0.format = Format(rate: audio.rate, sampleFormat: audio.sampleFormat, channels: audio.channels)
        }
        exchange.play()
        exchange.start(audio) {}
    }

    func released() async { state.withLock { $0.requests.append(.released) } }

    private func perform(_ request: Request) async throws(ProviderRefusal) {
        state.withLock { $0.requests.append(request) }
        switch manner {
        case .willing: return
        case .refusing(let message): throw .failed(message)
        case .silent:
            while case .silent = manner { await ControlLoop.shared.sleep(for: .milliseconds(10)) }
        }
    }
}

/// 500 Hz at an eighth of full scale, a whole number of periods at every rate.
enum Tone {
    static func samples(_ rate: Int) -> [Int16] {
        (0..<rate / 10).map { Int16(4096 * sin(2 * Double.pi * 500 * Double($0) / Double(rate))) }
    }

    /// Whether the samples are louder than noise.
    static func isHeard(in samples: some Collection<Int16>) -> Bool { samples.contains { abs(Int($0)) > 1500 } }
}
