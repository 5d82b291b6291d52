import BTCall
import CallExchange
import CommandKit
import ControlLoop
import Glibc

/// The audio of a call from and to files or FIFOs: 16-bit samples, one channel, without a header.
///
/// btcalld is the clock. Late samples from the file become silence; samples that nobody reads in time are dropped, oldest
/// first.
@ControlPlane
final class RawAudio {
    /// Capacity of a FIFO for its reader: half a second at 16 kHz.
    private nonisolated static let waitingBytes: Int32 = 16384
    /// F_SETPIPE_SZ, which the C library declares with _GNU_SOURCE only.
    private nonisolated static let setPipeSize: Int32 = 1031
    /// Most messages handled in one turn of the loop.
    private nonisolated static let mostBlocks = 16

    /// -1 without a file.
    private let farEnd: Int32
    private let recording: Int32
    private let isFIFO: Bool
    private var audio: (descriptor: Int32, blockBytes: Int, source: DescriptorSource)?
    private var pending: [UInt8] = []

    /// - Parameters:
    ///   - farEnd: audio of the other party; nil for silence.
    ///   - recording: file for the call's audio, created or truncated, readable only by its owner; nil drops the audio.
    init(farEnd: String?, recording: String?) throws(CommandFailure) {
        if let farEnd {
            self.farEnd = try Self.open(farEnd)
        } else {
            self.farEnd = -1
        }
        guard let recording else {
            (self.recording, isFIFO) = (-1, false)
            return
        }
        do throws(FileRefusal) {
            // A FIFO drops its oldest data, which it must read for that.
            (self.recording, isFIFO) = try OwnFile.openToRecord(recording, acceptsFIFO: true)
        } catch {
            if self.farEnd >= 0 { close(self.farEnd) }
            throw CommandFailure(WaveFileError(error).description)
        }
        if isFIFO { _ = fcntl(self.recording, Self.setPipeSize, Self.waitingBytes) }
    }

    isolated deinit {
        stop()
        for descriptor in [farEnd, recording] where descriptor >= 0 { close(descriptor) }
    }

    private static func open(_ path: String) throws(CommandFailure) -> Int32 {
        let descriptor = Glibc.open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw CommandFailure("\(path): \(String(cString: strerror(errno)))") }
        return descriptor
    }

    /// Takes over the audio of a call; that of another call ends.
    func start(_ audio: CallAudio) {
        stop()
        let descriptor = audio.takeDescriptor()
        guard descriptor >= 0 else { return }
        do throws(SystemError) {
            let source = try ControlLoop.shared.add(descriptor, .readable) { [weak self] _ in self?.exchange() }
            self.audio = (descriptor, 2 * audio.blockFrames, source)
        } catch {
            close(descriptor)
        }
    }

    func stop() {
        guard let audio else { return }
        self.audio = nil
        audio.source.cancel()
        close(audio.descriptor)
    }

    private func exchange() {
        guard let audio else { return }
        var block = [UInt8](repeating: 0, count: 2 * audio.blockBytes)
        for _ in 0..<Self.mostBlocks {
            let count = recv(audio.descriptor, &block, block.count, Int32(MSG_DONTWAIT))
            if count < 0, errno == EINTR { continue }
            if count < 0, errno == EAGAIN { return }
            guard count > 0 else { return stop() }
            record(block, count)
            let answer = next(audio.blockBytes)
            // A block that btcalld does not accept at once would be late.
            _ = send(audio.descriptor, answer, answer.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
        }
    }

    private func record(_ block: [UInt8], _ count: Int) {
        guard recording >= 0 else { return }
        if write(recording, block, count) < 0, errno == EAGAIN, isFIFO {
            var oldest = [UInt8](repeating: 0, count: Int(Self.waitingBytes) / 4)
            _ = read(recording, &oldest, oldest.count)
            _ = write(recording, block, count)
        }
    }

    /// The next samples of the far end.
    private func next(_ count: Int) -> [UInt8] {
        var isAtEnd = false
        while farEnd >= 0, pending.count < count {
            var piece = [UInt8](repeating: 0, count: count - pending.count)
            let got = read(farEnd, &piece, piece.count)
            if got < 0, errno == EINTR { continue }
            isAtEnd = got == 0
            guard got > 0 else { break }
            pending += piece[..<got]
        }
        // A partial block is sent only when nothing can follow it; otherwise it waits for more.
        guard pending.count == count || isAtEnd else { return [UInt8](repeating: 0, count: count) }
        let block = pending + [UInt8](repeating: 0, count: count - pending.count)
        pending = []
        return block
    }
}
