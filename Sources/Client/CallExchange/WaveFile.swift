import AudioDSP
import AudioEngine
package import ControlLoop
import Glibc

/// An error in a WAV file or on its disk.
package struct WaveFileError: Error, Hashable, CustomStringConvertible {
    package let description: String

    package init(_ path: String, _ problem: String) {
        description = "\(path): \(problem)"
    }

    package init(_ refusal: FileRefusal) {
        switch refusal.reason {
        case .failed(let error): self.init(refusal.path, String(cString: strerror(error.code)))
        case .kind, .link, .owner, .tooLong, .worldAccessible: self.init(refusal.path, refusal.what)
        }
    }

    static func system(_ path: String) -> WaveFileError { WaveFileError(path, String(cString: strerror(errno))) }
}

/// A WAV file in memory: 16-bit samples of one channel.
package struct WaveFile: Equatable, Sendable {
    /// The rates of a call.
    package static let rates = AudioEngine.rates

    /// Sample rate in Hz, one of ``rates``.
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
        let content: WaveContent
        do throws(WaveContent.Problem) {
            content = try WaveContent(bytes)
        } catch {
            throw WaveFileError(path, error.description)
        }
        guard Self.rates.contains(content.rate) else {
            let accepted = Self.rates.map(String.init).joined(separator: ", ")
            throw WaveFileError(path, "has \(content.rate) frames per second; accepted: \(accepted)")
        }
        rate = content.rate
        samples = content.samples
    }

    /// The largest size that a WAV file's header can state.
    private static let mostBytes = 1 << 32

    private static func contents(_ path: String) throws(WaveFileError) -> [UInt8] {
        do throws(FileRefusal) {
            // A person names the file: it may be a pipe.
            return try ForeignFile.read(path, atMost: mostBytes, kinds: .any)
        } catch {
            throw WaveFileError(error)
        }
    }
}

/// Writes a WAV file of 16-bit samples piece by piece.
///
/// The file is valid after every piece, so that it can be played even if the writer was killed.
package struct WaveWriter: ~Copyable {
    private let path: String
    private let rate: Int
    private let channels: Int
    private let descriptor: Int32
    private var dataBytes = 0

    /// Creates or truncates the file at `path`, readable only by its owner (``OwnFile``).
    ///
    /// - Parameter channels: number of interleaved channels.
    package init(path: String, rate: Int, channels: Int = 1) throws(WaveFileError) {
        self.path = path
        self.rate = rate
        self.channels = channels
        let (opened, problem) = Self.begin(path)
        descriptor = opened
        if let problem { throw problem }
        try write(header, at: 0)
    }

    /// - Returns: the descriptor; -1 and the reason when the file cannot be created.
    private static func begin(_ path: String) -> (descriptor: Int32, problem: WaveFileError?) {
        do throws(FileRefusal) {
            return (try OwnFile.openToRecord(path).descriptor, nil)
        } catch {
            return (-1, WaveFileError(error))
        }
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
