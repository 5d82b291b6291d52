package import BluetoothTypes
package import ControlLoop
import Glibc

/// An open synchronous connection (SCO or eSCO) to a headset. Owns its descriptor and closes it at the latest when it
/// is freed.
@ControlPlane
package final class SynchronousConnection {
    package let peer: BluetoothAddress
    package let codec: VoiceCodec
    /// The largest packet that the controller takes, in bytes, 0 if unknown. A hint for the first packet only: the size
    /// to write is that of the packets received.
    package let packetBytesHint: Int
    /// Whether each received packet carries the controller's verdict (`BT_SCM_PKT_STATUS`).
    package let reportsPacketStatus: Bool
    /// The controller's number of the connection, as `btmon` and `hcitool con` show it; nil when the kernel does not tell.
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

    /// Hands the descriptor over to a new owner, who closes it; nil if that happened before or it is closed.
    package func take() -> Int32? {
        guard descriptor >= 0 else { return nil }
        defer { descriptor = -1 }
        return descriptor
    }

    /// Disconnects at once and frees the descriptor. Nobody may read or write it any more; a second call does nothing.
    package func close() {
        guard descriptor >= 0 else { return }
        // The kernel starts the disconnection here even if the descriptor was duplicated. It fails only if the link has
        // gone already.
        _ = shutdown(descriptor, Int32(SHUT_RDWR))
        _ = Glibc.close(descriptor)
        descriptor = -1
    }
}
