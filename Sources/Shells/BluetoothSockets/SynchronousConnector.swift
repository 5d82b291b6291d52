package import BluetoothTypes
package import ControlLoop
import Glibc

/// Opens synchronous connections to headsets, one at a time.
///
/// The kernel tries the packet types in turn and pages the headset when there is no link to it; it never changes the codec
/// (docs/inside/Gateway.md, voice link). The caller ensures one set-up per adapter, and the pause between two.
@ControlPlane
package final class SynchronousConnector {
    private var setup: LinkSetup?

    package init() {}

    /// - Parameters:
    ///   - adapter: the local address; nil lets the kernel choose the adapter.
    ///   - codec: decides between CVSD in the controller and transparent data.
    ///   - timeout: until the link must be up; the kernel's own limit of 40 s is never reached in practice.
    /// - Throws: `cancelled` if `cancel` is called or the task is cancelled, at once. A link that comes up after that, or
    ///   after `timedOut`, is closed; until the kernel has decided, a new request to this headset is `busy`.
    package func connect(
        from adapter: BluetoothAddress?, to peer: BluetoothAddress, codec: VoiceCodec, timeout: Duration
    ) async throws(AudioLinkError) -> SynchronousConnection {
        guard setup == nil else { throw .alreadyConnecting }
        guard !Task.isCancelled else { throw .cancelled }
        let deadline = ControlLoop.now.advanced(by: timeout)
        let socket = try AudioLinkError.translating(codec: codec) { () throws(SystemError) in
            let socket = try SocketHandle.synchronous()
            try socket.bind(to: adapter)
            try socket.setVoice(codec)
            return socket
        }
        let reportsPacketStatus = socket.enablePacketStatus()
        let isUp = try AudioLinkError.translating(codec: codec) { () throws(SystemError) in
            try socket.connect(to: peer)
        }
        if !isUp {
            let setup = LinkSetup(descriptor: socket.descriptor, codec: codec)
            self.setup = setup
            let result = await setup.established(by: deadline)
            self.setup = nil
            switch result {
            case .success: break
            case .failure(let error):
                if error == .timedOut || error == .cancelled { AbandonedSetup(socket) }
                throw error
            }
        }
        return SynchronousConnection(socket, peer: peer, codec: codec, reportsPacketStatus: reportsPacketStatus)
    }

    /// Ends the set-up in progress, which then throws `cancelled`; does nothing without one.
    package func cancel() {
        setup?.cancel()
    }
}
