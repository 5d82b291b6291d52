import CBTCall
package import ControlLoop
import Glibc

/// Sockets that tell a ring's reader of new frames: a message of one byte for each.
package enum FrameWakeUp {
    /// What waits at a reader's end.
    package enum Waiting: Hashable, Sendable {
        case nothing
        /// A frame has been written; the messages are read, at most 16 of them.
        case messages
        /// The writer has closed its end.
        case closed
        /// The writer has sent descriptors, which are left where they are.
        case descriptors
    }

    private static let mostMessages = 16

    /// - Returns: our end, which is never readable (watch it for a hang-up), and the end of the reader, which blocks. Both
    ///   are the caller's.
    /// - Throws: also if only the reserve of descriptors is left.
    static func forReader() throws(SystemError) -> (ours: Int32, readers: Int32) {
        var ends: [Int32] = [-1, -1]
        let code = btcall_pcm_wake_pair(&ends)
        guard code == 0 else { throw SystemError(call: "socketpair", code: -code) }
        try FrameDescriptors.check(ends)
        return (ends[0], ends[1])
    }

    /// - Returns: our end, and the end of the writer, which keeps a handful of messages. Both are the caller's.
    /// - Throws: also if only the reserve of descriptors is left.
    package static func forWriter() throws(SystemError) -> (ours: Int32, writers: Int32) {
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_SEQPACKET.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { throw SystemError("socketpair") }
        // The kernel's minimum. Without it only more messages would wait, which say the same.
        var bytes: Int32 = 0
        _ = setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &bytes, socklen_t(MemoryLayout<Int32>.size))
        try FrameDescriptors.check(ends)
        return (ends[0], ends[1])
    }

    /// Tells the reader of a frame. Never waits: a reader that sleeps has messages enough.
    ///
    /// - Returns: false if the reader has closed its end.
    @discardableResult
    package static func send(to descriptor: Int32) -> Bool {
        var byte: UInt8 = 1
        let sent = btcall_send_packet(descriptor, &byte, 1)
        return sent > 0 || sent == -Int(EAGAIN)
    }

    /// Reads what waits, without waiting for more.
    package static func read(_ descriptor: Int32) -> Waiting {
        var waiting = Waiting.nothing
        var byte: UInt8 = 0
        for _ in 0..<mostMessages {
            switch btcall_receive_block(descriptor, &byte, 1) {
            case -Int(EAGAIN): return waiting
            case -Int(EBADMSG): return .descriptors
            case ...0: return .closed
            default: waiting = .messages
            }
        }
        return waiting
    }

    /// Closes our end of a socket whose other end a client has.
    package static func close(_ descriptor: Int32) { btcall_close_peer(descriptor) }
}
