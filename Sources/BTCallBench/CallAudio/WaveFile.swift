import AudioEngine
import Glibc

/// What is wrong with a WAV file, or with the disk it is on.
package struct WaveFileError: Error, Hashable, CustomStringConvertible {
    package let description: String

    package init(_ path: String, _ problem: String) {
        description = "\(path): \(problem)"
    }

    static func system(_ path: String) -> WaveFileError { WaveFileError(path, String(cString: strerror(errno))) }
}

/// A WAV file in memory: 16-bit samples of one channel.
package struct WaveFile: Equatable, Sendable {
    /// The rates of a call.
    package static let rates = AudioEngine.rates

    /// Frames per second, one of ``rates``.
    package let rate: Int
    package let samples: [Int16]

    /// Reads a file of 16-bit PCM with one or two channels; two are averaged.
    package init(path: String) throws(WaveFileError) {
        try self.init(bytes: Self.contents(path), path: path)
    }

    /// - Parameters:
    ///   - bytes: the whole file. Chunks other than `fmt ` and `data` are skipped; a `data` chunk that is cut short, or
    ///     whose length was never filled in, ends with the file.
    ///   - path: for messages.
    package init(bytes: [UInt8], path: String) throws(WaveFileError) {
        guard bytes.count >= 12, Self.tag(bytes, 0) == "RIFF", Self.tag(bytes, 8) == "WAVE" else {
            throw WaveFileError(path, "not a WAV file")
        }
        var format: (channels: Int, rate: Int)?
        var position = 12
        while position + 8 <= bytes.count {
            let name = Self.tag(bytes, position)
            let stated = Int(Self.number(bytes, position + 4, 4))
            let body = position + 8
            let end = min(bytes.count, body + stated)
            if name == "fmt " {
                format = try Self.format(bytes[body..<end], path)
            } else if name == "data" {
                guard let format else { throw WaveFileError(path, "has its data before its format") }
                rate = format.rate
                samples = Self.mono(bytes[body..<end], channels: format.channels)
                return
            }
            position = body + stated + stated % 2
        }
        throw WaveFileError(path, "has no audio data")
    }

    private static func format(_ bytes: ArraySlice<UInt8>, _ path: String) throws(WaveFileError) -> (Int, Int) {
        let bytes = Array(bytes)
        guard bytes.count >= 16 else { throw WaveFileError(path, "has a format that is cut short") }
        var encoding = number(bytes, 0, 2)
        // The extensible form names the encoding in its sub-format.
        if encoding == 0xFFFE, bytes.count >= 26 { encoding = number(bytes, 24, 2) }
        let (channels, rate, bits) = (Int(number(bytes, 2, 2)), Int(number(bytes, 4, 4)), number(bytes, 14, 2))
        guard encoding == 1, bits == 16 else {
            throw WaveFileError(path, "is not 16-bit PCM: `sox IN -b 16 -e signed OUT.wav` converts it")
        }
        guard channels == 1 || channels == 2 else { throw WaveFileError(path, "has \(channels) channels, not 1 or 2") }
        guard rates.contains(rate) else {
            let accepted = rates.map(String.init).joined(separator: ", ")
            throw WaveFileError(path, "has \(rate) frames per second; accepted: \(accepted)")
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

    private static func contents(_ path: String) throws(WaveFileError) -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .system(path) }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else { throw .system(path) }
            guard count > 0 else { return bytes }
            bytes += buffer[..<count]
        }
    }
}

/// Writes a WAV file of 16-bit samples piece by piece.
///
/// The file is valid after every piece, so that one whose writer was killed can be played as well.
package struct WaveWriter: ~Copyable {
    private let path: String
    private let rate: Int
    private let channels: Int
    private let descriptor: Int32
    private var dataBytes = 0

    /// Replaces the file at `path`.
    ///
    /// - Parameter channels: interleaved.
    package init(path: String, rate: Int, channels: Int = 1) throws(WaveFileError) {
        self.path = path
        self.rate = rate
        self.channels = channels
        descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw .system(path) }
        try write(header, at: 0)
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    package mutating func append(_ samples: [Int16]) throws(WaveFileError) {
        guard !samples.isEmpty else { return }
        guard 36 + dataBytes + 2 * samples.count <= UInt32.max else {
            throw WaveFileError(path, "is as long as a WAV file can be")
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(2 * samples.count)
        for sample in samples {
            bytes.append(UInt8(truncatingIfNeeded: sample))
            bytes.append(UInt8(truncatingIfNeeded: sample >> 8))
        }
        try write(bytes, at: 44 + dataBytes)
        dataBytes += bytes.count
        try write(header, at: 0)
    }

    private var header: [UInt8] {
        func bytes(_ number: Int, _ count: Int) -> [UInt8] {
            (0..<count).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
        }
        let riff = Array("RIFF".utf8) + bytes(36 + dataBytes, 4) + Array("WAVE".utf8)
        let format = Array("fmt ".utf8) + bytes(16, 4) + bytes(1, 2) + bytes(channels, 2) + bytes(rate, 4)
        return riff + format + bytes(2 * rate * channels, 4) + bytes(2 * channels, 2) + bytes(16, 2)
            + Array("data".utf8)
            + bytes(dataBytes, 4)
    }

    private func write(_ bytes: [UInt8], at offset: Int) throws(WaveFileError) {
        var written = 0
        while written < bytes.count {
            let count = bytes[written...].withUnsafeBytes {
                pwrite(descriptor, $0.baseAddress, $0.count, off_t(offset + written))
            }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { throw .system(path) }
            written += count
        }
    }
}
