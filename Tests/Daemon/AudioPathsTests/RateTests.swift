import ALSA
import AudioEngine
import BTCallAPI
import Testing

struct RateTests {
    /// The modules that say them do not see each other.
    @Test func `applications, the mixer and sound cards use the same sample rates`() {
        #expect(AudioFormat.rates == AudioEngine.rates)
        #expect(PCMHandle.rates.sorted() == AudioEngine.rates)
    }
}
