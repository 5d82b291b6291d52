package import BluetoothTypes
package import ControlLoop
import Glibc

/// An open synchronous connection (SCO or eSCO) to a headset. Owns its descriptor and closes it at the latest when it is
/// freed.
@ControlPlane
package final class SynchronousConnection {
    package let peer: BluetoothAddress
    package let codec: VoiceCodec
    /// Largest packet that the controller takes, in bytes, 0 if unknown. A hint for the first packet only: write packets of
    /// the size of received ones.
    package let packetBytesHint: Int
    /// Whether each received packet carries the controller's verdict (`BT_SCM_PKT_STATUS`).
    package let reportsPacketStatus: Bool
    /// The controller's connection handle, as `btmon` and `hcitool con` show it; nil if the kernel does not report it.
    package let handle: UInt16?
    /// Non-blocking, one packet per read and write; -1 after `close` and `take`.
    package private(set) var descriptor: Int32

    init(_ socket: consuming SocketHandle, peer: BluetoothAddress, codec: VoiceCodec, reportsPacketStatus: Bool) {
        self.peer = peer
        self.codec = codec
        self.reportsPacketStatus = reportsPacketStatus
        packetBytesHint = socket.packetBytesHint
        handle = socket.connectionHandle
        descriptor = socket.take()
    }

    deinit {
        if descriptor >= 0 { _ = Glibc.close(descriptor) }
    }

    /// Releases the descriptor to a new owner, who closes it; nil if it was released or closed before.
    package func take() -> Int32? {
        guard descriptor >= 0 else { return nil }
        defer { descriptor = -1 }
        return descriptor
    }

    /// Disconnects at once and frees the descriptor, which must not be used any more; a second call does nothing.
    package func close() {
        guard descriptor >= 0 else { return }
        // The kernel starts the disconnection here even if the descriptor was duplicated. It fails only if the link has gone
        // already.
        _ = shutdown(descriptor, Int32(SHUT_RDWR))
        _ = Glibc.close(descriptor)
        descriptor = -1
    }
}
