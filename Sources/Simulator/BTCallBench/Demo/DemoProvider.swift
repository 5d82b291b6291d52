import BTCall
import CallExchange
import Synchronization

/// The telephony application of the demonstration: one call whose far end speaks without pause.
final class DemoProvider: CallProvider {
    let exchange: AudioExchange
    private let clock: @Sendable () -> Double
    private let state = Mutex((startedAt: Double?.none, hasEnded: false))

    /// - Parameter clock: seconds on the time line of the recordings.
    init(farEnd: [Int16], clock: @escaping @Sendable () -> Double) {
        exchange = AudioExchange(FarEnd(samples: farEnd, rate: SpeechSource.rate), isRecording: true)
        self.clock = clock
    }

    /// Time of the first exchanged block.
    var startedAt: Double? { state.withLock { $0.startedAt } }
    var hasEnded: Bool { state.withLock { $0.hasEnded } }

    func performAnswer(_ call: Call.ID) async throws(ProviderRefusal) {}

    func performEnd(_ call: Call.ID, reason: String) async throws(ProviderRefusal) {
        state.withLock { $0.hasEnded = true }
    }

    func audioReady(_ call: Call.ID, _ audio: CallAudio) async {
        state.withLock { state in state.startedAt = state.startedAt ?? clock() }
        exchange.start(audio) {}
    }
}
