package import BluetoothTypes
package import ControlLoop

/// An open voice link: its descriptor and a function that closes it.
@ControlPlane
package final class OpenAudioLink {
    package let descriptor: Int32
    package let codec: VoiceCodec
    /// Size of the first packets to expect, in bytes; the size of received packets takes precedence.
    package let packetBytesHint: Int
    /// The controller's connection handle; nil without one.
    package let handle: UInt16?
    private var release: (@ControlPlane () -> Void)?

    /// - Parameter release: closes the descriptor; called once.
    package init(
        descriptor: Int32, codec: VoiceCodec, packetBytesHint: Int, handle: UInt16? = nil,
        release: @escaping @ControlPlane () -> Void
    ) {
        self.descriptor = descriptor
        self.codec = codec
        self.packetBytesHint = packetBytesHint
        self.handle = handle
        self.release = release
    }

    package func close() {
        release?()
        release = nil
    }
}
