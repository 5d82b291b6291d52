import BTCallAPI
import ControlLoop

/// Interleaved audio of an application, of any length.
public struct AppAudioBuffer: Hashable, Sendable {
    enum Samples: Hashable, Sendable {
        case s16([Int16])
        case f32([Float])
    }

    let samples: Samples
    /// Sample rate in Hz.
    public let rate: Int
    /// 1 or 2.
    public let channels: Int

    /// - Parameters:
    ///   - samples: whole frames.
    ///   - rate: 8000, 16000, 24000, 32000, 44100 or 48000 Hz.
    ///   - channels: 1, or 2 whose mean is used.
    public init(samples: [Int16], rate: Int = 16000, channels: Int = 1) {
        self.samples = .s16(samples)
        self.rate = rate
        self.channels = channels
    }

    /// The same with samples from -1 to 1.
    public init(samples: [Float], rate: Int = 16000, channels: Int = 1) {
        self.samples = .f32(samples)
        self.rate = rate
        self.channels = channels
    }

    var format: AudioFormat {
        let sample: AudioFormat.Sample =
            switch samples {
            case .s16: .s16
            case .f32: .f32
            }
        return AudioFormat(rate: rate, sample: sample, channels: channels)
    }

    /// The samples as the daemon reads them.
    var bytes: [UInt8] {
        switch samples {
        case .s16(let samples): samples.withUnsafeBytes { Array($0) }
        case .f32(let samples): samples.withUnsafeBytes { Array($0) }
        }
    }

    /// Bytes of one frame.
    var frameBytes: Int {
        switch samples {
        case .s16: 2 * channels
        case .f32: 4 * channels
        }
    }
}

/// Adds an application's audio to what the far end hears, block by block.
///
/// ``BridgeAudio/openInjection(rate:sampleFormat:channels:isStream:)`` gives the socket itself.
public struct AudioMixer: Sendable {
    let connection: BridgeConnection

    /// Sends one block to the far end of all active calls, mixed with the microphone.
    ///
    /// Returns when btcalld has room for more, so that a loop runs at the pace of the call, 40 to 130 ms ahead. It waits
    /// while there is no active call, and continues after a restart of btcalld, which may take 10 s. Blocks of several
    /// tasks follow each other.
    ///
    /// - Parameter replacingMicrophone: the far end does not hear the microphone until a block with false, ``stop()``, or the
    ///   end of this program. `BridgeAudio.isMicrophoneInUse()` stays true.
    /// - Throws: `.invalidArgument` for another format or half a frame, `.wrongState` when too many programs add audio.
    public func capture(appAudio: AppAudioBuffer, replacingMicrophone: Bool = false) async throws(BridgeError) {
        try await connection.appAudio.capture(appAudio, replacingMicrophone: replacingMicrophone)
    }

    /// Ends the audio: pending blocks are dropped, what btcalld already has is still heard.
    public func stop() async { await connection.appAudio.stop() }
}

extension BridgeAudio {
    /// Audio of this application for the far end.
    public var mixer: AudioMixer { AudioMixer(connection: connection) }
}
