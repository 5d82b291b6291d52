import ControlLoop
import NIOCore
import NIOHTTP1
import NIOWebSocket

/// The outgoing half of a connection that stays open: server-sent events, or a WebSocket. Callable from any thread.
final class WebOutlet: Sendable {
    /// Most bytes that may wait for a peer.
    static let mostWaiting = 256 * 1024

    private let channel: any Channel
    private let isSocket: Bool

    init(_ channel: any Channel, isSocket: Bool) {
        self.channel = channel
        self.isSocket = isSocket
    }

    /// Sends one object.
    ///
    /// - Parameter text: JSON on one line.
    /// - Returns: false when the peer does not read: the connection is closed then.
    @discardableResult
    func send(_ text: String) -> Bool {
        guard channel.isWritable else {
            close(4003, "the peer does not read")
            return false
        }
        if isSocket {
            var data = channel.allocator.buffer(capacity: text.utf8.count)
            data.writeString(text)
            channel.writeAndFlush(WebSocketFrame(fin: true, opcode: .text, data: data), promise: nil)
        } else {
            write("data: \(text)\n\n")
        }
        return true
    }

    /// Sends what no program sees, so that the connection counts as alive.
    func sendSign() {
        guard channel.isWritable else { return close(4003, "the peer does not read") }
        if isSocket {
            channel.writeAndFlush(
                WebSocketFrame(fin: true, opcode: .ping, data: channel.allocator.buffer(capacity: 0)), promise: nil)
        } else {
            write(":\n\n")
        }
    }

    /// Sends raw text of a stream.
    func write(_ text: String) {
        var buffer = channel.allocator.buffer(capacity: text.utf8.count)
        buffer.writeString(text)
        channel.writeAndFlush(HTTPServerResponsePart.body(.byteBuffer(buffer)), promise: nil)
    }

    /// Ends the connection.
    ///
    /// - Parameters:
    ///   - code: close code of a WebSocket.
    ///   - reason: at most 123 bytes.
    func close(_ code: Int, _ reason: String) {
        guard isSocket else {
            guard channel.isWritable else { return channel.close(promise: nil) }
            let channel = channel
            channel.writeAndFlush(HTTPServerResponsePart.end(nil)).whenComplete { _ in channel.close(promise: nil) }
            return
        }
        guard channel.isWritable else { return channel.close(promise: nil) }
        var data = channel.allocator.buffer(capacity: 2 + reason.utf8.count)
        data.write(webSocketErrorCode: WebSocketErrorCode(codeNumber: code))
        data.writeString(String(decoding: reason.utf8.prefix(123), as: UTF8.self))
        let channel = channel
        channel.writeAndFlush(WebSocketFrame(fin: true, opcode: .connectionClose, data: data)).whenComplete { _ in
            channel.close(promise: nil)
        }
    }
}
