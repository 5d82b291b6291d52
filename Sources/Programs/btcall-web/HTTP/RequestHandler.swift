import ControlLoop
import NIOCore
import NIOHTTP1
import NIOWebSocket

/// The last handler of a connection: collects requests, has them answered on the control plane, and sends the answers.
final class RequestHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    /// Longest time until a request is complete.
    static let requestTimeout = TimeAmount.seconds(10)
    /// Longest time between two requests of one connection.
    static let idleTimeout = TimeAmount.seconds(15)
    /// Longest time until an answer is sent.
    static let answerTimeout = TimeAmount.seconds(30)

    private let service: any WebAnswering
    private let peer: WebPeer
    private let onStream: @Sendable () -> Void
    private var head: HTTPRequestHead?
    private var body: [UInt8] = []
    private var isRefused = false
    private var isStreaming = false
    private var timer: Scheduled<Void>?
    private var exchange: Task<Void, Never>?
    private var onGone: (@Sendable () -> Void)?

    /// - Parameter onStream: called when the connection becomes a stream, which has limits of its own.
    init(_ service: any WebAnswering, peer: WebPeer, onStream: @escaping @Sendable () -> Void) {
        self.service = service
        self.peer = peer
        self.onStream = onStream
    }

    func handlerAdded(context: ChannelHandlerContext) {
        wait(Self.requestTimeout, context)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        timer?.cancel()
    }

    func channelInactive(context: ChannelHandlerContext) {
        timer?.cancel()
        exchange?.cancel()
        onGone?()
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isStreaming, !isRefused else { return }
        switch unwrapInboundIn(data) {
        case .head(let head): received(head, context)
        case .body(let buffer): received(buffer, context)
        case .end: complete(context)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // A refused upgrade: the request is answered as any other.
        if error is HTTPServerUpgradeErrors || error is NIOWebSocketUpgradeError { return }
        guard let error = error as? HTTPParserError, !isStreaming, exchange == nil else {
            return context.close(promise: nil)
        }
        let isLarge = error == .headerOverflow
        refuse(
            isLarge
                ? WebError(431, "tooLarge", "the head has more than \(WebRequest.longestHead) bytes")
                : WebError(400, "badRequest", "this is no request of HTTP/1.1"), context)
    }

    private func received(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        wait(Self.requestTimeout, context)
        self.head = head
        body = []
        if let length = head.headers.first(name: "content-length").flatMap({ Int($0) }),
            length > WebRequest.longestBody
        {
            return refuse(Self.tooLarge, context)
        }
        if head.headers.first(name: "expect")?.lowercased() == "100-continue" {
            context.writeAndFlush(
                wrapOutboundOut(.head(HTTPResponseHead(version: head.version, status: .continue))), promise: nil)
        }
    }

    private static let tooLarge = WebError(413, "tooLarge", "the body has more than \(WebRequest.longestBody) bytes")

    private func received(_ buffer: ByteBuffer, _ context: ChannelHandlerContext) {
        guard body.count + buffer.readableBytes <= WebRequest.longestBody else { return refuse(Self.tooLarge, context) }
        body += buffer.readableBytesView
    }

    private func complete(_ context: ChannelHandlerContext) {
        timer?.cancel()
        guard let head else { return }
        let request: WebRequest
        do throws(WebError) {
            request = try WebRequest(head, body, from: peer)
        } catch {
            return refuse(error, context)
        }
        body = []
        let (service, loop) = (service, context.eventLoop)
        let (handler, bound) = (NIOLoopBound(self, eventLoop: loop), NIOLoopBound(context, eventLoop: loop))
        exchange = Task { @ControlPlane in
            let answer = await service.answer(request)
            loop.execute { handler.value.send(answer, bound.value) }
        }
    }

    private func refuse(_ error: WebError, _ context: ChannelHandlerContext) {
        isRefused = true
        send(.response(WebResponse(error)), context)
    }

    // MARK: Answers

    private func send(_ answer: WebAnswer, _ context: ChannelHandlerContext) {
        exchange = nil
        guard context.channel.isActive else { return }
        let isKept = !isRefused && head?.isKeepAlive == true
        wait(Self.answerTimeout, context)
        switch answer {
        case .response(let response): send(response, isKept: isKept, context)
        case .stream(let headers, let start): stream(headers, start, context)
        }
    }

    private func send(_ response: WebResponse, isKept: Bool, _ context: ChannelHandlerContext) {
        var headers = HTTPHeaders(response.headers.map { ($0.name, $0.value) })
        if response.status != 204 { headers.add(name: "Content-Length", value: String(response.body.count)) }
        if !isKept { headers.add(name: "Connection", value: "close") }
        let status = HTTPResponseStatus(statusCode: response.status)
        context.write(
            wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: status, headers: headers))), promise: nil)
        if !response.body.isEmpty, head?.method != .HEAD {
            let buffer = ByteBuffer(bytes: response.body)
            context.write(wrapOutboundOut(.body(.byteBuffer(buffer))), promise: nil)
        }
        let (loop, bound) = (context.eventLoop, NIOLoopBound(context, eventLoop: context.eventLoop))
        let handler = NIOLoopBound(self, eventLoop: loop)
        head = nil
        context.writeAndFlush(wrapOutboundOut(.end(nil))).whenComplete { _ in
            guard isKept else { return bound.value.close(promise: nil) }
            handler.value.wait(Self.idleTimeout, bound.value)
        }
    }

    private func stream(
        _ fields: [(name: String, value: String)], _ start: @escaping @Sendable @ControlPlane (WebOutlet) -> Void,
        _ context: ChannelHandlerContext
    ) {
        timer?.cancel()
        isStreaming = true
        onStream()
        var headers = HTTPHeaders(fields.map { ($0.name, $0.value) })
        headers.add(name: "Connection", value: "close")
        context.writeAndFlush(
            wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: .ok, headers: headers))), promise: nil)
        let outlet = WebOutlet(context.channel, isSocket: false)
        let service = service
        onGone = { Task { @ControlPlane in service.gone(outlet) } }
        Task { @ControlPlane in start(outlet) }
    }

    private func wait(_ time: TimeAmount, _ context: ChannelHandlerContext) {
        timer?.cancel()
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        timer = context.eventLoop.scheduleTask(in: time) {
            let (handler, context) = bound.value
            handler.expired(context)
        }
    }

    private func expired(_ context: ChannelHandlerContext) {
        guard head != nil, exchange == nil, !isRefused, !isStreaming else { return context.close(promise: nil) }
        refuse(WebError(408, "tooSlow", "the request was not complete within 10 s"), context)
    }
}

/// The part of the program that answers requests.
protocol WebAnswering: Sendable {
    @ControlPlane func answer(_ request: WebRequest) async -> WebAnswer
    /// A stream's peer has gone.
    @ControlPlane func gone(_ outlet: WebOutlet)
    /// - Returns: why the request must not become a WebSocket; nil when it may.
    @ControlPlane func refusal(ofUpgrade request: WebRequest) async -> WebError?
    /// A WebSocket is open.
    @ControlPlane func opened(_ outlet: WebOutlet, _ request: WebRequest) -> any WebSocketReceiving
}

/// Receives the messages of one WebSocket, in order.
protocol WebSocketReceiving: AnyObject, Sendable {
    @ControlPlane func received(_ text: [UInt8])
    @ControlPlane func closed()
}
