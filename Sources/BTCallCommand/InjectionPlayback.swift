import BTCall
import ControlLoop
import Glibc

/// Writes samples to the far end of the calls, as fast as they are heard.
@ControlPlane
final class InjectionPlayback {
    private let samples: [Int16]
    private let blockFrames: Int
    private let descriptor: Int32
    private var written = 0
    private var source: DescriptorSource?
    private var end: CheckedContinuation<Void, Never>?
    private var isOver = false

    /// - Parameter audio: one channel of 16 bit, in messages.
    init(_ samples: [Int16], _ audio: AudioInjection) {
        self.samples = samples
        blockFrames = audio.blockFrames
        descriptor = audio.takeDescriptor()
    }

    isolated deinit { if descriptor >= 0 { close(descriptor) } }

    /// Returns when the far end has heard everything, or after `stop()`.
    ///
    /// - Returns: how many frames were written.
    /// - Throws: when the descriptor cannot be watched.
    func run() async throws(SystemError) -> Int {
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        if isOver { return 0 }
        source = try ControlLoop.shared.add(descriptor, .writable) { [weak self] _ in self?.write() }
        await withCheckedContinuation { end = $0 }
        return written
    }

    /// Leaves the rest out.
    func stop() {
        guard !isOver else { return }
        isOver = true
        source?.cancel()
        source = nil
        end?.resume()
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
            if sent < 0 { return stop() }
            written += frames
        }
        // Only what is heard is over: the daemon closes its end then.
        source?.cancel()
        source = nil
        shutdown(descriptor, Int32(SHUT_WR))
        do throws(SystemError) {
            source = try ControlLoop.shared.add(descriptor, .readable) { [weak self] _ in self?.stop() }
        } catch {
            stop()
        }
    }
}
