import AudioDSP
import CALSA
import CBTCall
import Foundation
import Testing

@testable import AudioEngine

private let cardFormats = SampleFormat.allCases.flatMap { format in
    [1, 2].flatMap { channels in AudioEngine.rates.map { ($0, SampleLayout(format, channels: channels)) } }
}

struct PathFormatTests {
    private func share(_ samples: [Int16], rate: Int) -> (rms: Double, share: Double) {
        let late = samples.suffix(rate / 2)
        let energy = late.reduce(0.0) { $0 + Double($1) * Double($1) } / Double(late.count)
        return (energy.squareRoot(), toneShare(late, hertz: 1_000, rate: rate))
    }

    @Test(arguments: cardFormats)
    func `S1.23 a card of any rate, sample format and number of channels plays its audio correctly`(
        rate: Int, layout: SampleLayout
    ) throws {
        let card = try SimulatedCard(SND_PCM_STREAM_PLAYBACK, rate: rate, layout: layout)
        var played: [Int16] = []
        var piece = [Int16](repeating: 0, count: 4_096)
        card.onPlayed = { stream, frames in
            layout.read(stream, frames, into: &piece)
            played += piece[..<frames]
        }
        let bench = PathBench(playback: card)
        #expect(bench.start(now: 0) == 0)
        let source = tone(1_000, rate: 16_000)
        for block in 0..<80 {
            card.now = Int64(block + 1) * 10_000_000
            #expect(bench.play((0..<160).map { source(block * 160 + $0) }, now: card.now) == 0)
        }
        let (rms, share) = share(played, rate: rate)
        // 60 dB: the rest is a millionth of the energy.
        #expect(share > 1 - 1e-6 && abs(20 * log10(rms / (8_000 / 2.squareRoot()))) < 0.1, "\(share), \(rms)")
        #expect(card.xruns == 0)
    }

    @Test(arguments: cardFormats)
    func `S1.23 a card of any rate, sample format and number of channels is recorded from`(
        rate: Int, layout: SampleLayout
    ) throws {
        let card = try SimulatedCard(SND_PCM_STREAM_CAPTURE, rate: rate, layout: layout)
        let source = tone(1_000, rate: rate)
        var frame = 0
        card.onCapture = { stream, frames in
            layout.write((0..<frames).map { source(frame + $0) }, frames, to: stream)
            frame += frames
        }
        let bench = PathBench(playback: nil, capture: card)
        #expect(bench.start(now: 0) == 0)
        var heard: [Int16] = []
        for block in 0..<80 {
            card.now = Int64(block + 1) * 10_000_000
            let frames = bench.path.pointee.read(now: card.now, bench.counters)
            #expect(frames == rate / 100)
            heard += UnsafeBufferPointer(start: bench.path.pointee.pcm, count: max(frames, 0))
        }
        let (rms, share) = share(heard, rate: rate)
        #expect(share > 1 - 1e-6 && abs(20 * log10(rms / (8_000 / 2.squareRoot()))) < 0.1, "\(share), \(rms)")
    }

    @Test(arguments: SampleFormat.allCases)
    func `the first queue is silence in every format, also with an odd number of frames`(format: SampleFormat) throws {
        let card = try SimulatedCard(SND_PCM_STREAM_PLAYBACK, rate: 44_100, layout: SampleLayout(format))
        var bytes: [UInt8] = []
        card.onPlayed = { stream, frames in
            bytes += UnsafeRawBufferPointer(start: stream, count: frames * format.bytes)
        }
        // 45 ms: 1984.5 frames.
        let bench = PathBench(playback: card, queueMilliseconds: 45)
        #expect(bench.start(now: 0) == 0)
        #expect(bytes.count == 1_984 * format.bytes && bytes.allSatisfy { $0 == 0 })
        // Played audio does not return after a restart.
        card.now = 10_000_000
        #expect(bench.play([Int16](repeating: 12_345, count: 160), now: card.now) == 0)
        bench.path.pointee.stop()
        bytes = []
        #expect(bench.start(now: 20_000_000) == 0)
        #expect(bytes.count == 1_984 * format.bytes && bytes.allSatisfy { $0 == 0 })
    }
}
