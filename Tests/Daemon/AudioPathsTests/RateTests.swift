import ALSA
import AudioEngine
import BTCallAPI
import Testing

struct RateTests {
    /// The modules that say them do not see each other.
    @Test func `what a call may ask for, what is mixed and what a card is opened with are the same rates`() {
        #expect(AudioFormat.rates == AudioEngine.rates)
        #expect(PCMHandle.rates.sorted() == AudioEngine.rates)
    }
}
