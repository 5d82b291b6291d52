import BTCall
import CallExchange
import ControlLoop
import Synchronization

/// The telephony application of a sandbox: it dials, answers, holds, and its far end speaks.
final class SandboxLine: CallProvider {
    private struct State {
        var exchanges: [Call.ID: AudioExchange] = [:]
        var registration: ProviderRegistration?
    }

    private let farEnd: [Int16]
    private let state = Mutex(State())
    /// Reports the requests to the application.
    private let onNote: @Sendable (String) -> Void

    init(farEnd: [Int16], onNote: @escaping @Sendable (String) -> Void) {
        self.farEnd = farEnd
        self.onNote = onNote
    }

    func use(_ registration: ProviderRegistration) {
        state.withLock { $0.registration = registration }
    }

    /// Loudest sample heard by the far end of any call since the last request.
    func takeHeard() -> Int {
        state.withLock { state in state.exchanges.values.map { $0.takeLevels().received }.max() ?? 0 }
    }

    /// Closes the audio of a call that has ended.
    func forget(_ call: Call.ID) {
        state.withLock { $0.exchanges.removeValue(forKey: call) }?.stop()
    }

    // MARK: CallProvider

    func performStart(_ call: Call.ID, number: String) async throws(ProviderRefusal) {
        guard let registration = state.withLock({ $0.registration }) else {
            throw .failed("the sandbox is not ready yet")
        }
        Task { @ControlPlane in await Self.answerLater(call, registration) }
    }

    /// The other side rings briefly, and answers.
    @ControlPlane
    static func answerLater(_ call: Call.ID, _ registration: ProviderRegistration) async {
        do {
            await ControlLoop.shared.sleep(for: .milliseconds(500))
            try await registration.update(call, .alerting)
            await ControlLoop.shared.sleep(for: .milliseconds(1500))
            try await registration.update(call, .active)
        } catch {
            // The call was ended meanwhile: the daemon has no such call.
        }
    }

    func performAnswer(_ call: Call.ID) async throws(ProviderRefusal) {}

    func performEnd(_ call: Call.ID, reason: String) async throws(ProviderRefusal) {
        onNote("the application ends the call (\(reason))")
    }

    func performSetHeld(_ call: Call.ID, _ held: Bool) async throws(ProviderRefusal) {}

    func performDTMF(_ call: Call.ID, tones: String) async throws(ProviderRefusal) {
        onNote("the far end hears the keys \(tones)")
    }

    func audioReady(_ call: Call.ID, _ audio: CallAudio) async {
        let exchange = state.withLock { state in
            if let exchange = state.exchanges[call] { return exchange }
            let exchange = AudioExchange(
                FarEnd(samples: farEnd, rate: SandboxVoices.rate, loops: true), isRecording: false)
            state.exchanges[call] = exchange
            return exchange
        }
        exchange.play()
        exchange.start(audio) {}
    }
}
