import ControlLoop
import Glibc
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket

/// Most connections, and where they may come from.
struct WebLimits: Sendable, Equatable {
    /// Connections that are neither a WebSocket nor server-sent events.
    var connections = 64
    /// The same for one peer.
    var perPeer = 32
    /// WebSockets and streams of server-sent events.
    var streams = 512
    var requestsPerSecond = 20
}

/// Accepts connections and speaks HTTP/1.1 and WebSocket with them, on one thread of its own.
///
/// The control loop accepts: it sees who connects before a byte is read.
@ControlPlane
final class WebServer {
    private let service: any WebAnswering
    private let limits: WebLimits
    private let logger: Logger
    private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    private let localGroup: UInt32?
    private var listeners: [(source: Listener, descriptor: Int32)] = []
    private var requests: [ObjectIdentifier: (channel: any Channel, peer: WebPeer)] = [:]
    private var streams: [ObjectIdentifier: any Channel] = [:]
    /// Connections that are being set up.
    private var pending = 0
    private var isFull = false
    /// Called when a connection has come or gone.
    var onChange: (@ControlPlane () -> Void)?

    /// - Parameter localGroup: members of this group have all scopes on Unix sockets.
    init(_ service: any WebAnswering, limits: WebLimits, localGroup: UInt32?, logger: Logger) {
        self.service = service
        self.limits = limits
        self.localGroup = localGroup
        self.logger = logger
    }

    /// Accepts connections of a listening socket from now on; it belongs to the server.
    func serve(_ descriptor: Int32) throws(SystemError) {
        let listener = try Listener(descriptor, "web", logger: logger) { [weak self] connected in
            if let self { accept(connected) } else { close(connected) }
        }
        listeners.append((listener, descriptor))
    }

    /// Number of WebSockets and streams of server-sent events.
    var streamCount: Int { streams.count }

    /// Whether nobody is connected.
    var isUnused: Bool { requests.isEmpty && streams.isEmpty && pending == 0 }

    /// Ends all connections.
    func stop() async {
        for (listener, descriptor) in listeners {
            listener.cancel()
            close(descriptor)
        }
        listeners = []
        for channel in Array(streams.values) + requests.values.map(\.channel) { channel.close(promise: nil) }
        // It fails only when it was stopped before.
        try? await group.shutdownGracefully()
    }

    private func accept(_ descriptor: Int32) {
        let peer: WebPeer
        if let address = PeerAddress.text(of: descriptor) {
            peer = .network(address: address)
            PeerAddress.setNoDelay(descriptor)
        } else if let local = SocketPeer(of: descriptor) {
            peer = .local(local, group: localGroup)
        } else {
            close(descriptor)
            return
        }
        let isFull =
            requests.count + pending >= limits.connections || streams.count >= limits.streams
            || requests.values.count { $0.peer == peer } >= limits.perPeer
        if isFull != self.isFull {
            logger.notice(isFull ? "connections are refused: too many" : "connections are accepted")
        }
        self.isFull = isFull
        guard !isFull else { return Self.refuse(descriptor) }
        open(descriptor, peer)
    }

    private static let busy = """
        HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/json\r\nContent-Length: 93\r\nRetry-After: 1\r\n\
        Connection: close\r\n\r\n\
        {"error": {"code": "tooMany", "name": null, "message": "too many connections: try again"}}

        """

    private static func refuse(_ descriptor: Int32) {
        // A new connection has room for this; if not, closing says enough.
        _ = Array(busy.utf8).withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        close(descriptor)
    }

    private func open(_ descriptor: Int32, _ peer: WebPeer) {
        pending += 1
        onChange?()
        let service = service
        ClientBootstrap(group: group)
            .channelOption(.maxMessagesPerRead, value: 4)
            .channelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: 2048))
            .channelOption(
                .writeBufferWaterMark,
                value: ChannelOptions.Types.WriteBufferWaterMark(low: 32 * 1024, high: WebOutlet.mostWaiting)
            )
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try Self.configure(channel, service, peer) { [weak self] in
                        Task { @ControlPlane in self?.becameStream(channel) }
                    }
                }
            }
            .withConnectedSocket(descriptor)
            .whenComplete { [weak self] result in
                Task { @ControlPlane in self?.opened(result, peer) }
            }
    }

    private func opened(_ result: Result<any Channel, any Error>, _ peer: WebPeer) {
        pending -= 1
        // NIO has closed the descriptor of a connection that it could not adopt.
        guard case .success(let channel) = result else {
            onChange?()
            return
        }
        let id = ObjectIdentifier(channel)
        requests[id] = (channel, peer)
        channel.closeFuture.whenComplete { [weak self] _ in
            Task { @ControlPlane in self?.closed(id) }
        }
    }

    private func becameStream(_ channel: any Channel) {
        let id = ObjectIdentifier(channel)
        guard requests.removeValue(forKey: id) != nil else { return }
        streams[id] = channel
    }

    private func closed(_ id: ObjectIdentifier) {
        requests[id] = nil
        streams[id] = nil
        onChange?()
    }

    private nonisolated static func configure(
        _ channel: any Channel, _ service: any WebAnswering, _ peer: WebPeer, _ onStream: @escaping @Sendable () -> Void
    ) throws {
        let handler = RequestHandler(service, peer: peer, onStream: onStream)
        let bound = NIOLoopBound(handler, eventLoop: channel.eventLoop)
        let upgrader = NIOWebSocketServerUpgrader(maxFrameSize: WebRequest.longestBody) { channel, head in
            let promise = channel.eventLoop.makePromise(of: HTTPHeaders?.self)
            Task { @ControlPlane in
                guard let request = try? WebRequest(head, [], from: peer),
                    await service.refusal(ofUpgrade: request) == nil
                else { return promise.succeed(nil) }
                promise.succeed(HTTPHeaders())
            }
            return promise.futureResult
        } upgradePipelineHandler: { channel, head in
            onStream()
            return channel.eventLoop.makeCompletedFuture {
                let request = try WebRequest(head, [], from: peer)
                channel.pipeline.syncOperations.removeHandler(bound.value, promise: nil)
                try channel.pipeline.syncOperations.addHandlers([
                    NIOWebSocketFrameAggregator(
                        minNonFinalFragmentSize: 0, maxAccumulatedFrameCount: 64,
                        maxAccumulatedFrameSize: WebRequest.longestBody),
                    SocketHandler(service, request),
                ])
            }
        }
        var limits = NIOHTTPDecoderLimitConfiguration()
        limits.maxHeaderFieldSize = WebRequest.longestHead
        limits.maxHeaderListSize = WebRequest.longestHead
        limits.maxHeaderFieldCount = 64
        try channel.pipeline.syncOperations.configureHTTPServerPipeline(
            withPipeliningAssistance: true, withServerUpgrade: ([upgrader], { _ in }), withErrorHandling: false,
            withEncoderConfiguration: .init(),
            withDecoderLimitConfiguration: limits)
        try channel.pipeline.syncOperations.addHandler(handler)
    }
}

/// Addresses of connections over TCP.
enum PeerAddress {
    /// The numeric address of the peer, without the port; nil for other kinds of sockets.
    static func text(of descriptor: Int32) -> String? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address -> String? in
                guard getpeername(descriptor, address, &length) == 0,
                    [sa_family_t(AF_INET), sa_family_t(AF_INET6)].contains(address.pointee.sa_family)
                else { return nil }
                var name = [CChar](repeating: 0, count: Int(NI_MAXHOST))
                guard
                    getnameinfo(address, length, &name, socklen_t(name.count), nil, 0, NI_NUMERICHOST) == 0
                else { return nil }
                return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            }
        }
    }

    /// Sends small answers at once.
    static func setNoDelay(_ descriptor: Int32) {
        var one: Int32 = 1
        // Without it answers are only later.
        _ = setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
    }
}
