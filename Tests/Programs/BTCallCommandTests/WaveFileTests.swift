import CallExchange
import CommandKit
import Foundation
import Testing

@testable import BTCallCommand

@Suite struct WaveFileTests {
    private func bytes(_ number: Int, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }

    private func file(
        encoding: Int = 1, channels: Int = 1, rate: Int = 8000, bits: Int = 16, samples: [Int16], extra: [UInt8] = [],
        stated: Int? = nil
    ) -> [UInt8] {
        let data = samples.flatMap { bytes(Int($0), 2) }
        let format = bytes(encoding, 2) + bytes(channels, 2) + bytes(rate, 4) + bytes(0, 6) + bytes(bits, 2)
        return Array("RIFF".utf8) + bytes(0, 4) + Array("WAVEfmt ".utf8) + bytes(16, 4) + format + extra
            + Array("data".utf8) + bytes(stated ?? data.count, 4) + data
    }

    private func problem(_ bytes: [UInt8]) -> String? {
        do throws(WaveFileError) {
            _ = try WaveFile(bytes: bytes, path: "x.wav")
            return nil
        } catch {
            return error.description
        }
    }

    @Test func `Pieces written one by one are read as a whole`() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "btcall-\(UUID().uuidString).wav").path()
        defer { unlink(path) }
        var writer = try WaveWriter(path: path, rate: 32000)
        try writer.append([1, -2, .max])
        #expect(try WaveFile(path: path).samples == [1, -2, .max])
        try writer.append([])
        try writer.append([.min, 0])
        let file = try WaveFile(path: path)
        #expect(file.rate == 32000 && file.samples == [1, -2, .max, .min, 0])
    }

    @Test func `Two channels are averaged`() throws {
        let stereo = file(channels: 2, samples: [100, 200, -3, -5, .max, .max, 9])
        #expect(try WaveFile(bytes: stereo, path: "").samples == [150, -4, .max])
    }

    @Test func `Other chunks are skipped, and data with a wrong length ends with the file`() throws {
        let list = Array("LIST".utf8) + bytes(3, 4) + [1, 2, 3, 0]
        #expect(try WaveFile(bytes: file(samples: [5], extra: list), path: "").samples == [5])
        #expect(try WaveFile(bytes: file(samples: [5, 6], stated: 0xFFFF_FFFF), path: "").samples == [5, 6])
    }

    @Test func `An unsupported file is refused with the supported formats`() {
        #expect(problem([]) == "x.wav: not a WAV file")
        #expect(problem(file(encoding: 3, bits: 32, samples: []))?.contains("16-bit PCM") == true)
        #expect(problem(file(channels: 6, samples: [])) == "x.wav: has 6 channels, not 1 or 2")
        #expect(
            problem(file(rate: 22050, samples: []))
                == "x.wav: has 22050 frames per second; accepted: 8000, 16000, 24000, 32000, 44100, 48000")
        #expect(problem(Array(file(samples: []).prefix(36))) == "x.wav: has no audio data")
    }

    @Test func `A truncated file is never read beyond its end`() {
        let whole = file(channels: 2, samples: [1, 2, 3, 4])
        for count in whole.indices { _ = problem(Array(whole.prefix(count))) }
    }

    @Test func `A missing file is named with the reason`() {
        #expect(throws: WaveFileError("/nonexistent.wav", "No such file or directory")) {
            try WaveFile(path: "/nonexistent.wav")
        }
    }
}

@Suite struct FarEndTests {
    @Test func `A file is followed by silence, or repeated`() {
        var once = FarEnd(samples: [1, 2, 3], rate: 8000)
        var again = FarEnd(samples: [1, 2, 3], rate: 8000, loops: true)
        var block: [Int16] = [9, 9, 9, 9, 9]
        once.fill(&block)
        #expect(block == [1, 2, 3, 0, 0])
        again.fill(&block)
        #expect(block == [1, 2, 3, 1, 2])
        again.fill(&block)
        #expect(block == [3, 1, 2, 3, 1])
    }

    @Test func `A tone continues smoothly from block to block at its frequency`() throws {
        var tone = try FarEnd(.tone(hertz: 1000), rate: 8000, loops: false)
        var samples: [Int16] = []
        for _ in 0..<10 {
            var block = [Int16](repeating: 0, count: 80)
            tone.fill(&block)
            samples += block
        }
        // Eight samples per period: each equals the one eight before.
        for index in 8..<samples.count { #expect(abs(Int(samples[index]) - Int(samples[index - 8])) <= 1) }
        #expect(samples[2] == 8192)
    }

    @Test func `The far end is a tone, a file or an error`() {
        #expect(FarEnd.Source("tone:440") == .tone(hertz: 440))
        #expect(FarEnd.Source("tone:19") == nil)
        #expect(FarEnd.Source("tone.wav") == .file("tone.wav"))
    }
}
