import BTCall
import ControlLoop
import Glibc

/// Writes samples to the far end of the calls, at the speed of playback.
@ControlPlane
final class InjectionPlayback {
    enum Outcome: Hashable, Sendable {
        /// Played to the last sample.
        case heard
        case interrupted
        case callOver
        case daemonGone
        /// The daemon closed the socket before the end of the file.
        case closed
    }

    /// Frames written; the last of them may not have been heard.
    private(set) var written = 0
    private let samples: [Int16]
    private let blockFrames: Int
    private let descriptor: Int32
    private var source: DescriptorSource?
    private var end: CheckedContinuation<Outcome, Never>?
    private var outcome: Outcome?

    /// - Parameter audio: one channel of 16 bit, in messages.
    init(_ samples: [Int16], _ audio: AudioInjection) {
        self.samples = samples
        blockFrames = audio.blockFrames
        descriptor = audio.takeDescriptor()
    }

    isolated deinit { if descriptor >= 0 { close(descriptor) } }

    /// Returns when the far end has heard everything, or after `stop`.
    ///
    /// - Throws: when the descriptor cannot be watched.
    func run() async throws(SystemError) -> Outcome {
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        if let outcome { return outcome }
        source = try ControlLoop.shared.add(descriptor, .writable) { [weak self] _ in self?.write() }
        return await withCheckedContinuation { end = $0 }
    }

    /// Drops the rest. Only the first reason counts.
    func stop(_ outcome: Outcome) {
        guard self.outcome == nil else { return }
        self.outcome = outcome
        source?.cancel()
        source = nil
        end?.resume(returning: outcome)
        end = nil
    }

    private func write() {
        while written < samples.count {
            let frames = min(blockFrames, samples.count - written)
            let sent = samples[written..<written + frames].withUnsafeBytes {
                send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if sent < 0 && errno == EINTR { continue }
            if sent < 0 && errno == EAGAIN { return }
            if sent < 0 { return stop(.closed) }
            written += frames
        }
        source?.cancel()
        source = nil
        shutdown(descriptor, Int32(SHUT_WR))
        do throws(SystemError) {
            // Playback has ended when the daemon closes the socket.
            source = try ControlLoop.shared.add(descriptor, .readable) { [weak self] _ in self?.stop(.heard) }
        } catch {
            stop(.closed)
        }
    }
}
