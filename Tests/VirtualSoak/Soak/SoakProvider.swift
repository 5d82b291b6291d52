import BTCall
import BTCallBench
import CallExchange
import ControlLoop
import Synchronization

/// The telephony application of the soak: carries out requests, or is too slow.
final class SoakProvider: CallProvider {
    enum Manner: Sendable { case willing, refusing, slow }

    private struct State {
        var manner = Manner.willing
        var dialled: [Call.ID] = []
        var blocks = 0
    }

    private let exchange = AudioExchange(
        FarEnd(samples: (0..<1600).map { Int16($0 % 64 * 100 - 3200) }, rate: 16000, loops: true), isRecording: false)
    private let state = Mutex(State())

    var manner: Manner {
        get { state.withLock(\.manner) }
        set { state.withLock { $0.manner = newValue } }
    }

    /// Calls begun for headsets or programs since the last call of this function.
    func takeDialled() -> [Call.ID] {
        state.withLock { state in
            defer { state.dialled = [] }
            return state.dialled
        }
    }

    var blocksReceived: Int { exchange.counters.blocksReceived }

    func stop() { exchange.stop() }

    func performStart(_ call: Call.ID, number: String) async throws(ProviderRefusal) {
        try await decide()
        state.withLock { $0.dialled.append(call) }
    }
    func performAnswer(_ call: Call.ID) async throws(ProviderRefusal) { try await decide() }
    func performEnd(_ call: Call.ID, reason: String) async throws(ProviderRefusal) {}
    func performSetHeld(_ call: Call.ID, _ held: Bool) async throws(ProviderRefusal) { try await decide() }
    func performDTMF(_ call: Call.ID, tones: String) async throws(ProviderRefusal) { try await decide() }

    func audioReady(_ call: Call.ID, _ audio: CallAudio) async {
        exchange.play()
        exchange.start(audio) {}
    }

    private func decide() async throws(ProviderRefusal) {
        switch manner {
        case .willing: return
        case .refusing: throw .failed("not now")
        // The daemon waits five seconds.
        case .slow: await ControlLoop.shared.sleep(for: .seconds(7))
        }
    }
}
