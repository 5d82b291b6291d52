import ALSA
import AudioEngine
import BTCallAPI
import Testing

struct RateTests {
    /// The modules with these lists do not import each other.
    @Test func `applications, the mixer and sound cards use the same sample rates`() {
        #expect(AudioFormat.rates == AudioEngine.rates)
        #expect(PCMHandle.rates.sorted() == AudioEngine.rates)
    }
}
