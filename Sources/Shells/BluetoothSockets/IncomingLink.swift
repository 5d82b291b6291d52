package import BluetoothTypes
package import ControlLoop
import Glibc

/// A headset's pending request for a synchronous connection. Freeing it rejects the request.
@ControlPlane
package final class IncomingLink {
    package let peer: BluetoothAddress
    /// The adapter that received the request.
    package let adapter: BluetoothAddress?
    private var socket: SocketHandle?
    private var setup: LinkSetup?

    init(_ socket: consuming SocketHandle, peer: BluetoothAddress, adapter: BluetoothAddress?) {
        self.socket = consume socket
        self.peer = peer
        self.adapter = adapter
    }

    /// Accepts with the voice setting that fits the codec, and waits until the link is up.
    ///
    /// - Throws: `lost` if the request was answered before or withdrawn; `timedOut`; `cancelled`.
    package func accept(codec: VoiceCodec, timeout: Duration) async throws(AudioLinkError) -> SynchronousConnection {
        guard let socket = self.socket.take() else { throw .lost }
        guard !Task.isCancelled else { throw .cancelled }
        let deadline = ControlLoop.now.advanced(by: timeout)
        let reportsPacketStatus = socket.enablePacketStatus()
        try AudioLinkError.translating(codec: codec) { () throws(SystemError) in
            try socket.setVoice(codec)
            try socket.acceptDeferred()
        }
        let setup = LinkSetup(descriptor: socket.descriptor, codec: codec)
        self.setup = setup
        defer { self.setup = nil }
        try await setup.established(by: deadline).get()
        return SynchronousConnection(socket, peer: peer, codec: codec, reportsPacketStatus: reportsPacketStatus)
    }

    /// Rejects the request, or cancels an `accept` in progress.
    package func reject() {
        setup?.cancel()
        socket = nil
    }
}
