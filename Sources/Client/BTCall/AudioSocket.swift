import BTCallAPI
import DBus

/// A socket that carries audio between an application and the daemon: one message for each 10 ms, or a stream of the same
/// bytes. Channels are interleaved.
public final class AudioSocket: Sendable {
    /// One sample, little-endian.
    public enum SampleFormat: Hashable, Sendable, CaseIterable {
        /// Signed 16 bit.
        case s16
        /// 32 bit floating point, -1 to 1.
        case f32

        init(_ sample: AudioFormat.Sample) {
            switch sample {
            case .s16: self = .s16
            case .f32: self = .f32
            }
        }

        var sample: AudioFormat.Sample {
            switch self {
            case .s16: .s16
            case .f32: .f32
            }
        }
    }

    /// Sample rate in Hz.
    public let rate: Int
    public let sampleFormat: SampleFormat
    /// 1 or 2.
    public let channels: Int
    /// Frames in 10 ms.
    public let blockFrames: Int
    /// `SOCK_STREAM`, without message boundaries between blocks, instead of `SOCK_SEQPACKET`.
    public let isStream: Bool
    private let descriptor: PassedDescriptor

    init(_ descriptor: PassedDescriptor, _ format: AudioFormat, isStream: Bool = false) {
        self.descriptor = descriptor
        self.isStream = isStream
        rate = format.rate
        sampleFormat = SampleFormat(format.sample)
        channels = format.channels
        blockFrames = format.blockFrames
    }

    /// Hands the socket (`AF_UNIX`) to the caller, who closes it; -1 when it was already handed over.
    ///
    /// A socket that was not handed over is closed with this object.
    public func takeDescriptor() -> Int32 {
        descriptor.take()
    }
}
