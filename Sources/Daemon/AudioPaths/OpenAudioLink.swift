package import BluetoothTypes
package import ControlLoop

/// What a voice link needs from whoever opened it: its descriptor and the way to close it.
@ControlPlane
package final class OpenAudioLink {
    package let descriptor: Int32
    package let codec: VoiceCodec
    /// Size of the first packets to expect, in bytes; the size of those received counts.
    package let packetBytesHint: Int
    /// The controller's number of the connection; nil where there is none.
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
