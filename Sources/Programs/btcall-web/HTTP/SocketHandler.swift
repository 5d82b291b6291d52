import ControlLoop
import NIOCore
import NIOWebSocket

/// The last handler of a WebSocket: passes whole text messages on, and answers pings and closes.
final class SocketHandler: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    /// Interval of pings to peers on the network.
    static let pingInterval = TimeAmount.seconds(30)

    private let service: any WebAnswering
    private let request: WebRequest
    private var receiver: (any WebSocketReceiving)?
    /// Messages that arrive before there is a receiver.
    private var early: [[UInt8]] = []
    private var isClosed = false
    private var pings: RepeatedTask?
    /// Pings since the last frame of the peer.
    private var unanswered = 0

    init(_ service: any WebAnswering, _ request: WebRequest) {
        self.service = service
        self.request = request
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let outlet = WebOutlet(context.channel, isSocket: true)
        let (service, request, loop) = (service, request, context.eventLoop)
        let bound = NIOLoopBound((self, context), eventLoop: loop)
        Task { @ControlPlane in
            let receiver = service.opened(outlet, request)
            loop.execute {
                let (handler, _) = bound.value
                handler.opened(receiver)
            }
        }
        guard request.peer.isNetwork else { return }
        pings = loop.scheduleRepeatedTask(initialDelay: Self.pingInterval, delay: Self.pingInterval) { _ in
            let (handler, context) = bound.value
            handler.ping(context)
        }
    }

    private func opened(_ receiver: any WebSocketReceiving) {
        self.receiver = receiver
        let messages = early
        early = []
        for message in messages { pass(message) }
        if isClosed { Task { @ControlPlane in receiver.closed() } }
    }

    private func pass(_ message: [UInt8]) {
        guard let receiver else { return early.append(message) }
        Task { @ControlPlane in receiver.received(message) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        isClosed = true
        pings?.cancel()
        if let receiver { Task { @ControlPlane in receiver.closed() } }
        context.fireChannelInactive()
    }

    private func ping(_ context: ChannelHandlerContext) {
        guard unanswered < 2 else { return context.close(promise: nil) }
        unanswered += 1
        let data = context.channel.allocator.buffer(capacity: 0)
        context.writeAndFlush(wrapOutboundOut(WebSocketFrame(fin: true, opcode: .ping, data: data)), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        unanswered = 0
        switch frame.opcode {
        case .text:
            guard early.count < 16 else { return end(.policyViolation, context) }
            let bytes = Array(frame.unmaskedData.readableBytesView)
            guard String(validating: bytes, as: UTF8.self) != nil else {
                return end(.dataInconsistentWithMessage, context)
            }
            pass(bytes)
        case .ping:
            let pong = WebSocketFrame(fin: true, opcode: .pong, data: frame.unmaskedData)
            context.writeAndFlush(wrapOutboundOut(pong), promise: nil)
        case .pong: break
        case .connectionClose:
            var data = frame.unmaskedData
            let code = data.readSlice(length: 2) ?? context.channel.allocator.buffer(capacity: 0)
            finish(WebSocketFrame(fin: true, opcode: .connectionClose, data: code), context)
        default: end(.unacceptableData, context)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch error {
        case NIOWebSocketFrameAggregator.Error.nonFinalFragmentSizeIsTooSmall,
            NIOWebSocketFrameAggregator.Error.tooManyFragments,
            NIOWebSocketFrameAggregator.Error.accumulatedFrameSizeIsTooLarge:
            end(.messageTooLarge, context)
        // The handlers before this one have sent the close frame of a violation of the protocol.
        default: context.close(promise: nil)
        }
    }

    private func end(_ code: WebSocketErrorCode, _ context: ChannelHandlerContext) {
        var data = context.channel.allocator.buffer(capacity: 2)
        data.write(webSocketErrorCode: code)
        finish(WebSocketFrame(fin: true, opcode: .connectionClose, data: data), context)
    }

    private func finish(_ frame: WebSocketFrame, _ context: ChannelHandlerContext) {
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        context.writeAndFlush(wrapOutboundOut(frame)).whenComplete { _ in bound.value.close(promise: nil) }
    }
}
