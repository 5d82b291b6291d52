import CBTCall
package import ControlLoop
import Glibc
import Synchronization

/// The socket of one program that reads the log. It never blocks: when the program reads too slowly, the oldest waiting
/// lines are dropped, and the program is sent their number.
package final class LogReader: Sendable {
    /// The most lines that wait for room in the socket.
    package static let mostWaiting = 256
    /// The most bytes that wait: 256 lines of half a kilobyte each (most are shorter), or any single line.
    package static let mostBytes = 128 << 10

    private struct State {
        /// -1 once closed.
        var descriptor: Int32
        /// Waiting lines in order; if there are any, the loop waits for room.
        var waiting: [[UInt8]] = []
        var waitingBytes = 0
        /// Number of lines dropped before the first waiting one.
        var lost = 0
        var isWaitingForRoom = false
    }

    /// Bytes that wait for room in the socket.
    package var waitingBytes: Int { state.withLock(\.waitingBytes) }
    private let state: Mutex<State>
    @ControlPlane private var source: DescriptorSource?
    @ControlPlane private var onEnd: (@ControlPlane (LogReader) -> Void)?

    /// - Parameter descriptor: a SOCK_SEQPACKET socket; the reader closes it.
    package init(taking descriptor: Int32) { state = Mutex(State(descriptor: descriptor)) }

    deinit { Self.close(state.withLock(\.descriptor)) }

    /// - Parameter onEnd: called once, when the program has closed its end; not after `close`.
    @ControlPlane
    package func start(onEnd: @escaping @ControlPlane (LogReader) -> Void) throws(SystemError) {
        self.onEnd = onEnd
        source = try ControlLoop.shared.add(state.withLock(\.descriptor), .readable) { [weak self] readiness in
            self?.look(readiness)
        }
    }

    @ControlPlane
    package func close() {
        onEnd = nil
        source?.cancel()
        source = nil
        state.withLock { state in
            Self.close(state.descriptor)
            state.descriptor = -1
            state.waiting = []
            state.waitingBytes = 0
        }
    }

    /// Sends or queues a line. May be called from any thread.
    package func deliver(_ line: LogLine) {
        let mustWait = state.withLock { state in
            guard state.descriptor >= 0 else { return false }
            let packet = line.packet
            if state.waiting.isEmpty, Self.send(packet, on: state.descriptor) { return false }
            state.waiting.append(packet)
            state.waitingBytes += packet.count
            while state.waiting.count > Self.mostWaiting || state.waitingBytes > Self.mostBytes {
                state.waitingBytes -= state.waiting.removeFirst().count
                state.lost += 1
            }
            defer { state.isWaitingForRoom = true }
            return !state.isWaitingForRoom
        }
        if mustWait { Task { @ControlPlane in source?.update([.readable, .writable]) } }
    }

    @ControlPlane
    private func look(_ readiness: Readiness) {
        let isOver = readiness.contains(.readable) && discard() == 0
        if isOver || readiness.contains(.hangup) || readiness.contains(.error) {
            let handler = onEnd
            close()
            handler?(self)
            return
        }
        if readiness.contains(.writable) { flush() }
    }

    @ControlPlane
    private func flush() {
        let isDone = state.withLock { state in
            if state.lost > 0 {
                let line = LogLine(
                    level: "warning", module: "btcall.log",
                    message: "\(state.lost) lines were lost: the program read too slowly",
                    context: ["lost": "\(state.lost)"])
                guard Self.send(line.packet, on: state.descriptor) else { return false }
                state.lost = 0
            }
            while let packet = state.waiting.first {
                guard Self.send(packet, on: state.descriptor) else { return false }
                state.waitingBytes -= state.waiting.removeFirst().count
            }
            state.isWaitingForRoom = false
            return true
        }
        if isDone { source?.update(.readable) }
    }

    /// Discards what the program writes, one packet a turn.
    ///
    /// - Returns: 0 when the program has closed its end or its sending direction; negative when there is nothing to read.
    @ControlPlane
    private func discard() -> Int {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let descriptor = state.withLock(\.descriptor)
        return bytes.withUnsafeMutableBytes { room in
            guard let start = room.baseAddress else { return 0 }
            let length = btcall_receive_block(descriptor, start, room.count)
            // A packet with descriptors counts as the end.
            return length == -Int(EBADMSG) ? 0 : length
        }
    }

    /// - Returns: false when the socket has no room. A packet that can never be sent counts as sent: the control loop
    ///   reports the reader's end.
    private static func send(_ packet: [UInt8], on descriptor: Int32) -> Bool {
        while true {
            let sent = packet.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
            }
            if sent >= 0 { return true }
            switch errno {
            case EINTR: continue
            case EAGAIN, ENOBUFS, ENOMEM: return false
            default: return true
            }
        }
    }

    private static func close(_ descriptor: Int32) {
        if descriptor >= 0 { btcall_close_peer(descriptor) }
    }
}
