internal import CBTCall
internal import Glibc

/// Reads what a peer sends until it closes the connection.
@ControlPlane
package final class SocketReading {
    private let descriptor: Int32
    private let limit: Int
    private var source: DescriptorSource?
    private var timer: Timer?
    private var bytes: [UInt8] = []
    private var continuation: CheckedContinuation<Bool, Never>?

    private init(_ descriptor: Int32, _ limit: Int) {
        self.descriptor = descriptor
        self.limit = limit
    }

    /// Everything until the end, or until the connection fails.
    ///
    /// - Parameters:
    ///   - descriptor: a socket; the caller closes it.
    ///   - bytes: further ones are dropped.
    /// - Throws: `ETIMEDOUT` when the end has not come within the time limit.
    package static func bytes(
        of descriptor: Int32, atMost bytes: Int, within limit: Duration
    ) async throws(SystemError) -> [UInt8] {
        let reading = SocketReading(descriptor, bytes)
        guard try await reading.read(within: limit) else { throw SystemError(call: "recv", code: ETIMEDOUT) }
        return reading.bytes
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
        bytes += piece.prefix(min(count, limit - bytes.count))
    }

    private func finish(_ isComplete: Bool) {
        source?.cancel()
        timer?.cancel()
        continuation?.resume(returning: isComplete)
        continuation = nil
    }
}
