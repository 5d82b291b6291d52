import CBTCall
package import ControlLoop
import Glibc
package import Logging

/// Serves metrics to monitoring systems on this machine: `GET /metrics` on a port of 127.0.0.1 (`[metrics] port`).
///
/// A client that has not completed its request and read the answer within `timeout` is disconnected. At most `mostClients`
/// are connected; a new client displaces one that has its answer, otherwise the one that has waited longest without a
/// request, otherwise the oldest.
@ControlPlane
package final class MetricsListener {
    package nonisolated static let mostClients = 8
    private static let problem = "metrics"
    /// Backlog of `listen(2)`, for clients that connect at the same moment; accepting them takes less time than a client's
    /// next attempt (TCP: one second).
    private static let backlog: Int32 = 64

    /// Creates the text of the answer.
    package var text: @ControlPlane () -> String = { "" }
    private let problems: ProblemList
    private let logger: Logger
    private let timeout: Duration
    private var listener: Int32 = -1
    private var accepting: Listener?
    /// The oldest first.
    private var clients: [Client] = []
    /// The configured port; 0: none.
    private var wanted = 0

    /// - Parameter timeout: the longest time for one request.
    package init(problems: ProblemList, timeout: Duration, logger: Logger) {
        self.problems = problems
        self.timeout = timeout
        self.logger = logger
    }

    /// The port that it listens on; 0 while it does not listen.
    package var port: Int {
        guard listener >= 0 else { return 0 }
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(listener, $0, &length) }
        }
        return result == 0 ? Int(UInt16(bigEndian: address.sin_port)) : 0
    }

    /// Listens on a port from now on; 0: on none.
    package func follow(_ port: Int) {
        guard port != wanted else { return }
        stop()
        wanted = port
        guard port != 0 else { return }
        do throws(SystemError) {
            try listen(at: port)
            logger.info("metrics are at http://127.0.0.1:\(port)/metrics")
        } catch {
            problems.begin(
                Self.problem, what: "metrics are not served at port \(port): \(error)",
                remedy: error.code == EADDRINUSE
                    ? "give them a port that no other program has ([metrics] port; `ss -ltnp` shows who has which)"
                    : "see the limits of the process, or switch them off ([metrics] port = 0)")
        }
    }

    package func stop() {
        wanted = 0
        accepting?.cancel()
        accepting = nil
        if listener >= 0 { close(listener) }
        listener = -1
        for client in clients { client.end() }
        clients = []
        problems.end(Self.problem)
    }

    private func listen(at port: Int) throws(SystemError) {
        let type = Int32(bitPattern: SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = try SystemError.check("socket") { socket(AF_INET, type, 0) }
        do throws(SystemError) {
            var one: Int32 = 1
            let size = socklen_t(MemoryLayout<Int32>.size)
            _ = try SystemError.check("setsockopt") { setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, size) }
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = UInt16(truncatingIfNeeded: port).bigEndian
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            _ = try SystemError.check("bind") {
                withUnsafePointer(to: address) { pointer in
                    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                    }
                }
            }
            _ = try SystemError.check("listen") { Glibc.listen(descriptor, Self.backlog) }
            accepting = try Listener(descriptor, "metrics", logger: logger) { [weak self] connected in
                if let self { accept(connected) } else { close(connected) }
            }
        } catch {
            close(descriptor)
            throw error
        }
        listener = descriptor
    }

    private func accept(_ descriptor: Int32) {
        if clients.count >= Self.mostClients { displaced.end() }
        do throws(SystemError) {
            let client = try Client(taking: descriptor, timeout: timeout)
            clients.append(client)
            client.text = { [weak self] in self?.text() ?? "" }
            client.onEnd = { [weak self, weak client] in self?.clients.removeAll { $0 === client } }
            // A client that has already sent its request is answered before new clients are accepted.
            client.look(.readable)
        } catch {
            close(descriptor)
        }
    }

    /// The client that a new one displaces; requires at least one client.
    private var displaced: Client {
        clients.first { $0.state == .answered } ?? clients.first { $0.state == .asking } ?? clients[0]
    }

    /// One request and its answer.
    @ControlPlane
    private final class Client {
        enum State { case asking, answering, answered }

        private(set) var state = State.asking
        var text: @ControlPlane () -> String = { "" }
        var onEnd: (@ControlPlane () -> Void)?
        private var descriptor: Int32
        private var source: DescriptorSource?
        private var timer: Timer?
        private var question: [UInt8] = []
        private var answer: ArraySlice<UInt8> = []

        /// - Parameter descriptor: owned by this client from here on, unless the initialiser throws.
        init(taking descriptor: Int32, timeout: Duration) throws(SystemError) {
            self.descriptor = descriptor
            source = try ControlLoop.shared.add(descriptor, .readable) { [weak self] readiness in
                self?.look(readiness)
            }
            timer = ControlLoop.shared.schedule(after: timeout) { [weak self] in self?.end() }
        }

        func end() {
            guard descriptor >= 0 else { return }
            timer?.cancel()
            source?.cancel()
            close(descriptor)
            descriptor = -1
            onEnd?()
            onEnd = nil
        }

        func look(_ readiness: Readiness) {
            if readiness.contains(.readable), !receive() { return end() }
            if readiness.contains(.error) || (readiness.contains(.hangup) && !readiness.contains(.readable)) {
                return end()
            }
            if state == .answering { write() }
        }

        /// - Returns: false when the client has gone.
        private func receive() -> Bool {
            var piece = [UInt8](repeating: 0, count: 2048)
            let count = piece.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, Int32(MSG_DONTWAIT)) }
            guard count != 0 else { return false }
            guard count > 0 else { return errno == EAGAIN || errno == EINTR }
            // Further bytes are read and dropped: closing the socket with unread data would discard the answer.
            guard state == .asking else { return true }
            question += piece.prefix(count)
            if let request = MetricsRequest(question) {
                answer = request.response(text)[...]
                state = .answering
            }
            return true
        }

        private func write() {
            while !answer.isEmpty {
                let count = answer.withUnsafeBytes {
                    send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
                }
                if count < 0, errno == EINTR { continue }
                guard count > 0 else {
                    if count < 0, errno == EAGAIN { return source?.update([.readable, .writable]) ?? () }
                    return end()
                }
                answer = answer.dropFirst(count)
            }
            state = .answered
            // The client closes its end, or its time runs out.
            source?.update(.readable)
            shutdown(descriptor, Int32(SHUT_WR))
        }
    }
}
