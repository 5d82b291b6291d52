package import AudioPaths
package import BluetoothSockets
package import BluetoothTypes
package import ControlLoop

/// Source of voice links: the kernel's synchronous connections, or the simulator's.
@ControlPlane
package protocol AudioLinkOpening: AnyObject {
    /// A headset opens a link; an unanswered request is rejected when it is released.
    var onIncoming: (@ControlPlane (any IncomingAudioLink) -> Void)? { get set }
    /// Opens a link; one at a time.
    ///
    /// - Throws: `cancelled` after `cancel`.
    func open(
        _ address: BluetoothAddress, codec: VoiceCodec, timeout: Duration
    ) async throws(AudioLinkError) -> OpenAudioLink
    /// Cancels the set-up in progress, if any.
    func cancel()
}

/// A headset's request for a link.
@ControlPlane
package protocol IncomingAudioLink: AnyObject {
    var peer: BluetoothAddress { get }
    func accept(codec: VoiceCodec, timeout: Duration) async throws(AudioLinkError) -> OpenAudioLink
    func reject()
}

/// Voice links through the kernel's SCO sockets.
@ControlPlane
package final class SynchronousLinkOpener: AudioLinkOpening {
    package var onIncoming: (@ControlPlane (any IncomingAudioLink) -> Void)?
    private let connector = SynchronousConnector()
    private var listener: SynchronousConnectionListener?
    /// The adapter that a headset is connected to; nil lets the kernel choose.
    private let adapter: @ControlPlane (BluetoothAddress) -> BluetoothAddress?

    package init(adapter: @escaping @ControlPlane (BluetoothAddress) -> BluetoothAddress?) {
        self.adapter = adapter
    }

    /// Starts to accept links that headsets open.
    ///
    /// - Throws: when the kernel has no Bluetooth sockets or another program listens; call it again to retry.
    package func listen() throws(AudioLinkError) {
        guard listener == nil else { return }
        let listener = try SynchronousConnectionListener()
        listener.onIncoming = { [weak self] link in self?.onIncoming?(Incoming(link)) }
        self.listener = listener
    }

    package func open(
        _ address: BluetoothAddress, codec: VoiceCodec, timeout: Duration
    ) async throws(AudioLinkError) -> OpenAudioLink {
        let connection = try await connector.connect(
            from: adapter(address), to: address, codec: codec, timeout: timeout)
        return try Self.link(connection)
    }

    package func cancel() { connector.cancel() }

    private static func link(_ connection: SynchronousConnection) throws(AudioLinkError) -> OpenAudioLink {
        guard connection.descriptor >= 0 else { throw .lost }
        let bytes = connection.codec == .cvsd ? connection.packetBytesHint : min(60, connection.packetBytesHint)
        return OpenAudioLink(
            descriptor: connection.descriptor, codec: connection.codec, packetBytesHint: bytes,
            handle: connection.handle
        ) { connection.close() }
    }

    private final class Incoming: IncomingAudioLink {
        private let link: IncomingLink
        let peer: BluetoothAddress

        init(_ link: IncomingLink) {
            self.link = link
            peer = link.peer
        }

        func accept(codec: VoiceCodec, timeout: Duration) async throws(AudioLinkError) -> OpenAudioLink {
            try SynchronousLinkOpener.link(await link.accept(codec: codec, timeout: timeout))
        }

        func reject() { link.reject() }
    }
}
