import BTCall
import CallExchange
import ControlLoop
import Glibc

/// Writes a call's audio to a WAV file.
@ControlPlane
final class TapRecording {
    enum Outcome: Hashable, Sendable {
        /// The requested length is reached.
        case complete
        case interrupted
        /// The daemon has closed the socket.
        case closed
    }

    /// Frames in the file.
    private(set) var frames = 0
    private var writer: WaveWriter
    private let channels: Int
    private let limit: Int
    private let descriptor: Int32
    private var bytes: [UInt8]
    private var source: DescriptorSource?
    private var end: CheckedContinuation<Result<Outcome, any Error>, Never>?
    private var result: Result<Outcome, any Error>?

    /// - Parameters:
    ///   - audio: 16 bit, in messages.
    ///   - limit: frames after which it ends; nil for no limit.
    init(_ audio: AudioTap, to path: String, limit: Int?) throws(WaveFileError) {
        writer = try WaveWriter(path: path, rate: audio.rate, channels: audio.channels)
        channels = audio.channels
        self.limit = limit ?? .max
        bytes = [UInt8](repeating: 0, count: audio.blockFrames * audio.channels * 2)
        descriptor = audio.takeDescriptor()
    }

    isolated deinit { if descriptor >= 0 { close(descriptor) } }

    /// Returns when it has ended, or after `stop`; the file is complete then.
    ///
    /// - Throws: an error of the file or its disk, or when the descriptor cannot be watched.
    func run() async throws -> Outcome {
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        if let result { return try result.get() }
        source = try ControlLoop.shared.add(descriptor, .readable) { [weak self] _ in self?.read() }
        return try await withCheckedContinuation { end = $0 }.get()
    }

    /// Drops the rest. Only the first reason counts.
    func stop(_ outcome: Outcome) { finish(.success(outcome)) }

    private func finish(_ result: Result<Outcome, any Error>) {
        guard self.result == nil else { return }
        self.result = result
        source?.cancel()
        source = nil
        end?.resume(returning: result)
        end = nil
    }

    private func read() {
        while result == nil {
            let count = recv(descriptor, &bytes, bytes.count, 0)
            if count < 0 && errno == EINTR { continue }
            if count < 0 && errno == EAGAIN { return }
            if count <= 0 { return stop(.closed) }
            let taken = min(count / (2 * channels), limit - frames)
            let samples = (0..<taken * channels).map {
                Int16(bitPattern: UInt16(bytes[2 * $0]) | UInt16(bytes[2 * $0 + 1]) << 8)
            }
            do throws(WaveFileError) {
                try writer.append(samples)
            } catch {
                return finish(.failure(error))
            }
            frames += taken
            if frames >= limit { stop(.complete) }
        }
    }
}
