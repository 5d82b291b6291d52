import ControlLoop
import Glibc

/// Asks for the findings of `btcall doctor` where a unit of its own runs it (`btcall-web-doctor.socket`): the confinement of
/// btcall-web hides the machine from it.
@ControlPlane
final class DoctorSocket {
    nonisolated static let standard = "/run/btcall-web-doctor.sock"

    private let descriptor: Int32
    private var source: DescriptorSource?
    private var timer: Timer?
    private var bytes: [UInt8] = []
    private var continuation: CheckedContinuation<Bool, Never>?

    private init(_ descriptor: Int32) {
        self.descriptor = descriptor
    }

    /// The findings as JSON.
    ///
    /// - Parameters:
    ///   - path: of the socket.
    ///   - limit: after which ``WebError`` 504 is thrown.
    /// - Returns: nil if there is no such socket.
    static func report(at path: String, within limit: Duration = .seconds(30)) async throws -> [UInt8]? {
        let descriptor: Int32
        do throws(SystemError) {
            descriptor = try UnixStream.connect(path)
        } catch {
            if error.code == ENOENT { return nil }
            throw WebError(
                501, "notSupported", "the doctor cannot be asked (\(path): \(error)): see btcall-web-doctor.socket")
        }
        defer { close(descriptor) }
        let socket = DoctorSocket(descriptor)
        guard try await socket.read(within: limit) else {
            throw WebService.doctorTimedOut
        }
        guard !socket.bytes.isEmpty else {
            throw WebError(
                502, "failed",
                "the doctor said nothing: it is at work for others, or see journalctl -u 'btcall-web-doctor@*'")
        }
        return socket.bytes
    }

    /// - Returns: whether the end came in time.
    private func read(within limit: Duration) async throws(SystemError) -> Bool {
        source = try ControlLoop.shared.add(descriptor, .readable) { [weak self] _ in self?.readAvailable() }
        timer = ControlLoop.shared.schedule(after: limit) { [weak self] in self?.finish(false) }
        return await withCheckedContinuation { continuation = $0 }
    }

    private func readAvailable() {
        var piece = [UInt8](repeating: 0, count: 4096)
        let count = recv(descriptor, &piece, piece.count, Int32(MSG_DONTWAIT))
        if count < 0, [EAGAIN, EINTR].contains(errno) { return }
        guard count > 0 else { return finish(true) }
        bytes += piece.prefix(min(count, WebService.largestAnswer - bytes.count))
    }

    private func finish(_ isComplete: Bool) {
        source?.cancel()
        timer?.cancel()
        continuation?.resume(returning: isComplete)
        continuation = nil
    }
}
