import BTCall
import CallExchange

/// A telephony application whose far end is silent until started.
final class QuietTelephone: CallProvider {
    let exchange = AudioExchange(FarEnd(samples: Tone.samples(16000), rate: 16000, loops: true), isRecording: true)

    func performStart(_ call: Call.ID, number: String) async throws(ProviderRefusal) {}
    func performAnswer(_ call: Call.ID) async throws(ProviderRefusal) {}
    func performEnd(_ call: Call.ID, reason: String) async throws(ProviderRefusal) {}
    func performSetHeld(_ call: Call.ID, _ held: Bool) async throws(ProviderRefusal) {}
    func performDTMF(_ call: Call.ID, tones: String) async throws(ProviderRefusal) {}
    func audioReady(_ call: Call.ID, _ audio: CallAudio) async { exchange.start(audio) {} }
    func released() async {}
}
