/// Content of a WAV file: 16-bit samples of one channel.
package struct WaveContent: Equatable, Sendable {
    /// Reason why bytes are no such file, as a phrase for messages: "is not …", "has …".
    package struct Problem: Error, Equatable, Sendable, CustomStringConvertible {
        package let description: String

        init(_ description: String) {
            self.description = description
        }
    }

    /// Accepted sample rates of a file in Hz.
    private static let rates = 1_000...384_000
    /// Sample rate of the file in Hz.
    package let rate: Int
    package let samples: [Int16]

    /// Reads 16-bit PCM with one or two channels; two are averaged.
    ///
    /// - Parameter bytes: the whole file. Chunks other than `fmt ` and `data` are skipped; a `data` chunk that is truncated,
    ///   or whose length was never filled in, ends with the file.
    package init(_ bytes: [UInt8]) throws(Problem) {
        guard bytes.count >= 12, Self.tag(bytes, 0) == "RIFF", Self.tag(bytes, 8) == "WAVE" else {
            throw Problem("not a WAV file")
        }
        var format: (channels: Int, rate: Int)?
        var position = 12
        while position + 8 <= bytes.count {
            let name = Self.tag(bytes, position)
            let stated = Int(Self.number(bytes, position + 4, 4))
            let body = position + 8
            let end = min(bytes.count, body + stated)
            if name == "fmt " {
                format = try Self.format(bytes[body..<end])
            } else if name == "data" {
                guard let format else { throw Problem("has its data before its format") }
                rate = format.rate
                samples = Self.mono(bytes[body..<end], channels: format.channels)
                return
            }
            position = body + stated + stated % 2
        }
        throw Problem("has no audio data")
    }

    /// The audio at another rate, without the converter's initial delay.
    ///
    /// - Parameter newRate: in Hz, 8000 to 48000.
    package func samples(atRate newRate: Int) -> [Int16] {
        guard newRate != rate, !samples.isEmpty else { return samples }
        var converter = Resampler(from: rate, to: newRate)
        let delay = converter.delayFrames
        let wanted = samples.count * newRate / rate
        var converted: [Int16] = []
        converted.reserveCapacity(wanted + delay)
        let room = newRate / 50 + 16
        var position = 0
        while converted.count < wanted + delay {
            var block = [Int16](repeating: 0, count: rate / 100)
            let count = min(block.count, max(0, samples.count - position))
            if count > 0 { block.replaceSubrange(..<count, with: samples[position..<position + count]) }
            position += block.count
            converted += [Int16](unsafeUninitializedCapacity: room) { output, made in
                made = output.baseAddress.map { converter.process(block, block.count, $0, room).made } ?? 0
            }
        }
        return Array(converted[delay..<delay + wanted])
    }

    private static func format(_ bytes: ArraySlice<UInt8>) throws(Problem) -> (Int, Int) {
        let bytes = Array(bytes)
        guard bytes.count >= 16 else { throw Problem("has a format that is cut short") }
        var encoding = number(bytes, 0, 2)
        // The extensible form names the encoding in its sub-format.
        if encoding == 0xFFFE, bytes.count >= 26 { encoding = number(bytes, 24, 2) }
        let (channels, rate, bits) = (Int(number(bytes, 2, 2)), Int(number(bytes, 4, 4)), number(bytes, 14, 2))
        guard encoding == 1, bits == 16 else {
            throw Problem("is not 16-bit PCM: `sox IN -b 16 -e signed OUT.wav` converts it")
        }
        guard channels == 1 || channels == 2 else { throw Problem("has \(channels) channels, not 1 or 2") }
        guard rates.contains(rate) else {
            throw Problem("has \(rate) frames a second, not \(rates.lowerBound) to \(rates.upperBound)")
        }
        return (channels, rate)
    }

    private static func mono(_ bytes: ArraySlice<UInt8>, channels: Int) -> [Int16] {
        let frameBytes = 2 * channels
        return stride(from: bytes.startIndex, through: bytes.endIndex - frameBytes, by: frameBytes).map { position in
            let left = sample(bytes, position)
            return channels == 1 ? left : Int16((Int(left) + Int(sample(bytes, position + 2))) / 2)
        }
    }

    private static func sample(_ bytes: ArraySlice<UInt8>, _ position: Int) -> Int16 {
        Int16(bitPattern: UInt16(bytes[position]) | UInt16(bytes[position + 1]) << 8)
    }

    private static func tag(_ bytes: [UInt8], _ position: Int) -> String {
        String(decoding: bytes[position..<position + 4], as: UTF8.self)
    }

    private static func number(_ bytes: [UInt8], _ position: Int, _ count: Int) -> UInt32 {
        (0..<count).reduce(0) { $0 | UInt32(bytes[position + $1]) << UInt32(8 * $1) }
    }
}
