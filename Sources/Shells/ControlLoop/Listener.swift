internal import CBTCall
internal import Glibc
package import Logging

/// Accepts the connections of a listening socket.
///
/// While the process or the system has no descriptor to spare, the socket would stay readable: accepting pauses for
/// ``pause``, clients wait in the kernel's queue, and the log says so once until a connection is accepted again.
@ControlPlane
package final class Listener {
    package static let pause = Duration.seconds(1)
    /// Most connections accepted at once; the rest waits for the next turn.
    private static let mostAtOnce = 8
    /// Number of slow closes (`btcall_close_elsewhere`) from which no new client is accepted that could add to them.
    private static let mostCloses = 16

    private let descriptor: Int32
    private let name: String
    private let logger: Logger?
    private let onAccept: @ControlPlane (Int32) -> Void
    private var source: DescriptorSource?
    private var resumption: Timer?
    private var isShort = false

    /// - Parameters:
    ///   - descriptor: listens and does not block; remains the caller's, who cancels this before closing it.
    ///   - name: what it serves, for the log: `metrics`.
    ///   - onAccept: receives and then owns each connection; it does not block and is close-on-exec.
    /// - Throws: why the descriptor cannot be watched.
    package init(
        _ descriptor: Int32, _ name: String, logger: Logger?, onAccept: @escaping @ControlPlane (Int32) -> Void
    ) throws(SystemError) {
        self.descriptor = descriptor
        self.name = name
        self.logger = logger
        self.onAccept = onAccept
        source = try ControlLoop.shared.add(descriptor, .readable) { [weak self] _ in self?.acceptAll() }
    }

    /// Stops accepting connections.
    package func cancel() {
        source?.cancel()
        source = nil
        resumption?.cancel()
        resumption = nil
    }

    private func acceptAll() {
        for _ in 0..<Self.mostAtOnce where source != nil {
            guard btcall_closes_waiting() < Self.mostCloses else {
                return rest("a client's descriptors are still being closed: end the program that passed them")
            }
            let accepted = btcall_accept(descriptor)
            guard accepted < 0 else {
                if isShort { logger?.notice("\(name): connections are accepted again") }
                isShort = false
                onAccept(accepted)
                continue
            }
            switch errno {
            case EAGAIN: return
            // The client has gone before it was accepted, or the network failed (accept(2)).
            case ECONNABORTED, ENETDOWN, EPROTO, ENOPROTOOPT, EHOSTDOWN, ENONET, EHOSTUNREACH, ENETUNREACH: continue
            default: return rest("\(SystemError("accept")): see LimitNOFILE of the unit")
            }
        }
    }

    private func rest(_ reason: String) {
        if !isShort {
            logger?.warning("\(name): no connection can be accepted, new ones wait: \(reason)")
        }
        isShort = true
        source?.update([])
        resumption = ControlLoop.shared.schedule(after: Self.pause) { [weak self] in
            self?.resumption = nil
            self?.source?.update(.readable)
        }
    }
}
