package import AudioDSP

/// Sound card streams opened by the control side: non-blocking, interleaved, parameters set, with a start threshold that is
/// never reached. The control side keeps the handles; the real-time thread uses them until `terminalRemoved`.
package struct ALSAPath: @unchecked Sendable {
    /// `snd_pcm_t *`; nil if the path lacks that direction.
    package var playback: OpaquePointer?
    package var capture: OpaquePointer?
    /// Sample rate in Hz; ignored when the path lacks that direction.
    package var playbackRate: Int
    package var captureRate: Int
    /// 1 or 2; both receive the same signal, and capture takes their mean.
    package var playbackChannels: Int
    package var captureChannels: Int
    package var playbackFormat = SampleFormat.s16
    package var captureFormat = SampleFormat.s16
    package var playbackPeriodFrames: Int
    package var playbackBufferFrames: Int
    package var capturePeriodFrames: Int
    package var captureBufferFrames: Int

    package init(
        playback: OpaquePointer? = nil, capture: OpaquePointer? = nil, playbackRate: Int = 48_000,
        captureRate: Int = 48_000,
        playbackChannels: Int = 1, captureChannels: Int = 1, playbackPeriodFrames: Int = 480,
        playbackBufferFrames: Int = 5_760, capturePeriodFrames: Int = 480, captureBufferFrames: Int = 5_760
    ) {
        self.playback = playback
        self.capture = capture
        self.playbackRate = playbackRate
        self.captureRate = captureRate
        self.playbackChannels = playbackChannels
        self.captureChannels = captureChannels
        self.playbackPeriodFrames = playbackPeriodFrames
        self.playbackBufferFrames = playbackBufferFrames
        self.capturePeriodFrames = capturePeriodFrames
        self.captureBufferFrames = captureBufferFrames
    }
}

/// A capture stream added separately, otherwise as in ``ALSAPath``. The owner keeps the handle; the real-time thread uses it
/// until `captureRemoved`.
package struct ALSACapture: @unchecked Sendable {
    /// `snd_pcm_t *`.
    package let pcm: OpaquePointer
    /// Sample rate in Hz.
    package let rate: Int
    /// 1 or 2; the mean is taken.
    package let channels: Int
    package let format: SampleFormat
    package let periodFrames: Int
    package let bufferFrames: Int

    package init(
        pcm: OpaquePointer, rate: Int = 48_000, channels: Int = 1, format: SampleFormat = .s16,
        periodFrames: Int = 480, bufferFrames: Int = 5_760
    ) {
        self.pcm = pcm
        self.rate = rate
        self.channels = channels
        self.format = format
        self.periodFrames = periodFrames
        self.bufferFrames = bufferFrames
    }
}

extension ALSAPath {
    /// The path's capture as a separate stream; nil without one.
    package var captureStream: ALSACapture? {
        capture.map {
            ALSACapture(
                pcm: $0, rate: captureRate, channels: captureChannels, format: captureFormat,
                periodFrames: capturePeriodFrames, bufferFrames: captureBufferFrames)
        }
    }
}

/// Content of a link's packets.
package enum LinkCodec: Equatable, Sendable {
    /// 16 bit, 8000 Hz: the controller encodes.
    case cvsd
    /// H2 framing and modified SBC, 16 kHz.
    case mSBC
    /// H2 framing and LC3, 32 kHz; only where ``LC3Codec/isAvailable``.
    case lc3SWB
    /// 16 bit at any supported rate: simulated sound cards.
    case pcm(rate: Int)
}

/// Device of the user: a headset's link, a sound card, or a headset that only plays.
package enum TerminalKind: Sendable {
    /// A packet socket. The descriptor is not owned; close it after `terminalRemoved`. The hint is the packet size to use
    /// until the first packet is received (docs/inside/Gateway.md, voice link).
    case link(descriptor: Int32, codec: LinkCodec, packetBytesHint: Int)
    case path(ALSAPath)
    /// A headset that plays over A2DP, optionally with an attached capture stream as its microphone.
    case stream(MediaStream)
}
