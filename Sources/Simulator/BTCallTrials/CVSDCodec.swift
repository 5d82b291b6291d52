import Glibc

/// The codec of narrow band links, in real life part of the controllers at both ends: continuously variable slope delta
/// modulation, 64 kbit/s (Bluetooth Core, volume 2 part B, 9.2).
package struct CVSDCodec {
    /// Bits for each frame of 8 kHz.
    private static let oversampling = 8
    /// Taps of the low pass at 64 kHz, for input and output.
    private static let taps = 97
    private static let filter: [Double] = {
        // 3.4 kHz, windowed.
        let middle = Double(taps - 1) / 2
        let values = (0..<taps).map { index in
            let place = Double(index) - middle
            let edge = 2 * .pi * 3_600 / 64_000.0
            let sinc = place == 0 ? edge / .pi : sin(edge * place) / (.pi * place)
            return sinc * (0.54 + 0.46 * cos(.pi * place / middle))
        }
        let sum = values.reduce(0, +)
        return values.map { $0 / sum }
    }()

    /// The accumulator and step size of either side.
    private struct Slope {
        var value = 0.0
        var step = 10.0
        var bits: UInt8 = 0b0101

        mutating func follow(_ bit: Bool) {
            bits = (bits << 1 | (bit ? 1 : 0)) & 0xF
            step = bits == 0xF || bits == 0 ? min(step + 10, 1_280) : max(step * (1 - 1 / 1_024.0), 10)
            value = max(-32_767, min(32_767, value + (bit ? step : -step))) * (1 - 1 / 32.0)
        }
    }

    private var encoder = Slope()
    private var decoder = Slope()
    /// The latest frames at 8 kHz, newest first.
    private var input = [Double](repeating: 0, count: taps / oversampling + 1)
    /// The latest values at 64 kHz, oldest first.
    private var output = [Double](repeating: 0, count: taps)

    package init() {}

    /// One byte for each frame.
    package mutating func encode(_ samples: ArraySlice<Int16>) -> [UInt8] {
        samples.map { sample in
            input.removeLast()
            input.insert(Double(sample) * Double(Self.oversampling), at: 0)
            var byte: UInt8 = 0
            for phase in 0..<Self.oversampling {
                var value = 0.0
                for (index, tap) in stride(from: phase, to: Self.taps, by: Self.oversampling).enumerated() {
                    value += input[index] * Self.filter[tap]
                }
                let bit = value >= encoder.value
                encoder.follow(bit)
                byte = byte << 1 | (bit ? 1 : 0)
            }
            return byte
        }
    }

    package mutating func decode(_ bytes: [UInt8]) -> [Int16] {
        bytes.map { byte in
            output.removeFirst(Self.oversampling)
            for index in 0..<Self.oversampling {
                decoder.follow(byte >> (7 - UInt8(index)) & 1 == 1)
                output.append(decoder.value)
            }
            var value = 0.0
            for index in 0..<Self.taps { value += output[index] * Self.filter[index] }
            return Int16(max(-32_768, min(32_767, value.rounded())))
        }
    }

    /// The idle pattern that a controller decodes instead of a missing packet.
    package mutating func decodeLost(frames: Int) -> [Int16] {
        decode([UInt8](repeating: 0x55, count: frames))
    }
}
