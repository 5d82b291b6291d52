import AudioDSP
import Testing

struct SampleLayoutTests {
    private let values: [Int16] = [0, 1, -1, 255, -256, 12_345, -12_345, .max, .min]

    @Test(arguments: SampleFormat.allCases, [1, 2])
    func `16-bit samples survive every format, and nothing after them is touched`(
        format: SampleFormat, channels: Int
    ) {
        let layout = SampleLayout(format, channels: channels)
        #expect(layout.frameBytes == format.bytes * channels)
        #expect(layout.isPlain == (layout == SampleLayout()))
        var words = [UInt32](repeating: 0xA5A5_A5A5, count: 32)
        var back = [Int16](repeating: 7, count: values.count + 1)
        words.withUnsafeMutableBytes { bytes in
            guard let start = bytes.baseAddress else { return }
            layout.write(values, values.count, to: start)
            #expect(bytes[(values.count * layout.frameBytes)...].allSatisfy { $0 == 0xA5 })
            layout.read(start, values.count, into: &back)
        }
        #expect(back == values + [7])
    }

    @Test(arguments: SampleFormat.allCases)
    func `pairs are read as they were written, and a single channel is given to both sides`(format: SampleFormat) {
        let layout = SampleLayout(format, channels: 2)
        let right = Array(values.reversed())
        #expect(layout.isPairs == (layout == SampleLayout(channels: 2)))
        #expect(!SampleLayout(format).isPairs)
        var words = [UInt32](repeating: 0, count: 2 * values.count)
        var pairs = [Int16](repeating: 7, count: 2 * values.count + 1)
        var doubled = pairs
        words.withUnsafeMutableBytes { bytes in
            guard let start = bytes.baseAddress else { return }
            layout.write(left: values, right: right, values.count, to: start)
            layout.readPairs(start, values.count, into: &pairs)
            SampleLayout(format).write(values, values.count, to: start)
            SampleLayout(format).readPairs(start, values.count, into: &doubled)
        }
        let expected: [Int16] = zip(values, right).flatMap { [$0, $1] }
        let expectedTwice: [Int16] = values.flatMap { [$0, $0] }
        #expect(pairs == expected + [7])
        #expect(doubled == expectedTwice + [7])
    }

    @Test func `formats match ALSA's memory layout`() {
        func bytes(_ format: SampleFormat, _ value: Int16) -> [UInt8] {
            var word: UInt32 = 0
            return withUnsafeMutableBytes(of: &word) { room in
                guard let start = room.baseAddress else { return [] }
                SampleLayout(format).write([value], 1, to: start)
                return Array(room.prefix(format.bytes))
            }
        }
        #expect(bytes(.s16, 0x1234) == [0x34, 0x12])
        #expect(bytes(.s24Packed, 0x1234) == [0, 0x34, 0x12])
        #expect(bytes(.s24, 0x1234) == [0, 0x34, 0x12, 0])
        #expect(bytes(.s24, -2) == [0, 0xFE, 0xFF, 0xFF])
        #expect(bytes(.s32, 0x1234) == [0, 0, 0x34, 0x12])
        #expect(bytes(.f32, -16_384) == [0, 0, 0, 0xBF])
    }

    @Test func `samples beyond 16 bits are rounded and clipped, and NaN is silence`() {
        var samples = [Int16](repeating: 7, count: 10)
        let floats: [Float] = [
            0.25 + 0.6 / 32_768, -0.25 - 0.6 / 32_768, 1, -1, 3, -3, .nan, .infinity, -.infinity, 1e30,
        ]
        SampleLayout(.f32).read(floats, floats.count, into: &samples)
        #expect(samples == [8_193, -8_193, .max, .min, .max, .min, 0, .max, .min, .max])
        let wide: [Int32] = [0x0001_8000, 0x0001_7FFF, -0x0001_8001, .max, .min]
        SampleLayout(.s32).read(wide, wide.count, into: &samples)
        #expect(samples[..<5] == [2, 1, -2, .max, .min])
        // The upper byte of 24 bits in four is not part of the sample.
        let loose: [Int32] = [0x7F01_0000, 0x0080_0000, 0x007F_FFFF]
        SampleLayout(.s24).read(loose, loose.count, into: &samples)
        #expect(samples[..<3] == [256, .min, .max])
    }

    @Test func `two channels are averaged`() {
        var samples = [Int16](repeating: 0, count: 3)
        SampleLayout(.s16, channels: 2).read([100, 300, .min, .min, .max, .max] as [Int16], 3, into: &samples)
        #expect(samples == [200, .min, .max])
        SampleLayout(.f32, channels: 2).read([0.5, 0.25, -1, 1, 1, 1] as [Float], 3, into: &samples)
        #expect(samples == [12_288, -1, .max])
    }
}
