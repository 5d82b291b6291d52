package import BluetoothTypes
import CBTCall

/// A stream to a headset over A2DP that the control side has acquired (`org.bluez.MediaTransport1.Acquire`).
package struct MediaStream: Sendable {
    /// SOCK_SEQPACKET, non-blocking. Not owned; close it after `terminalRemoved`. The engine limits the socket's buffer.
    package let descriptor: Int32
    package let configuration: SBCConfiguration
    /// Initial and maximum bitpool; lower where a codec frame would not fit into a packet.
    package let bitpool: Int
    /// Maximum packet length in bytes.
    package let writeMTU: Int

    package init(descriptor: Int32, configuration: SBCConfiguration, bitpool: Int, writeMTU: Int) {
        self.descriptor = descriptor
        self.configuration = configuration
        self.bitpool = bitpool
        self.writeMTU = writeMTU
    }
}
