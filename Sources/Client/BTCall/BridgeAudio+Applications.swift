import BTCallAPI
import DBus

/// The sockets of an application that replaces the devices.
///
/// The daemon is the clock: write one block for each block read, one or two ahead. A block that is written late becomes
/// silence, a block that is read late is lost; both are counted. Closing either socket ends it, and devices take the call.
public struct ManualAudio: Sendable {
    /// Audio for the far end of all calls.
    public let uplink: AudioSocket
    /// Audio of the calls.
    public let downlink: AudioSocket
}

/// A copy of a call, read-only: one message for each 10 ms, or a stream. Audio that is not read in time is lost and counted.
///
/// It ends with the call. While the call is held, no audio arrives.
public typealias AudioTap = AudioSocket

extension BridgeAudio {
    /// The side of a call that a tap copies.
    public enum TapSide: String, Hashable, Sendable, CaseIterable {
        /// Both sides, mixed.
        case both
        /// The near end, as btcalld sends it to the far end.
        case local
        /// The far end.
        case remote
        /// Two channels: the near end left, the far end right.
        case stereo
    }

    /// Replaces the devices with this program: it hears the calls, and the far end of each call hears it. btcalld opens no
    /// device meanwhile.
    ///
    /// - Parameters:
    ///   - rate: 8000, 16000, 24000, 32000, 44100 or 48000 Hz, in both directions.
    ///   - channels: 1 or 2. Both receive the same audio; of written audio btcalld uses their mean.
    ///   - isStream: the same bytes without message boundaries.
    /// - Throws: `.invalidArgument` for another format, `.wrongState` while another program does so.
    public func openManual(
        rate: Int = 16000, sampleFormat: AudioSocket.SampleFormat = .s16, channels: Int = 1, isStream: Bool = false
    ) async throws(BridgeError) -> ManualAudio {
        let format = AudioFormat(rate: rate, sample: sampleFormat.sample, channels: channels)
        var options = format.options
        options["stream"] = .bool(isStream)
        let member = BTCallName.Audio.openManual
        let answer = try await connection.request(
            BTCallPath.audio, BTCallName.Interface.audio, member, [.vardict(options)])
        return ManualAudio(
            uplink: try Self.socket(answer, 0, of: member, format, isStream: isStream),
            downlink: try Self.socket(answer, 1, of: member, format, isStream: isStream))
    }

    /// Opens a copy of a call. Where the daemon has to ask for consent, this waits for the answer, at most 30 s.
    ///
    /// - Parameters:
    ///   - rate: 8000, 16000, 24000, 32000, 44100 or 48000 Hz.
    ///   - isStream: the same bytes without message boundaries.
    /// - Throws: `.accessDenied` when recording is not allowed, `.noSuchCall`, `.wrongState` when too many programs record.
    public func openTap(
        call: Call.ID, side: TapSide = .both, rate: Int = 16000, sampleFormat: AudioSocket.SampleFormat = .s16,
        isStream: Bool = false
    ) async throws(BridgeError) -> AudioTap {
        let format = AudioFormat(rate: rate, sample: sampleFormat.sample, channels: side == .stereo ? 2 : 1)
        let options = TapOptions(format: format, side: Self.word(side), isStream: isStream)
        let member = BTCallName.Audio.openTap
        let answer = try await connection.request(
            BTCallPath.audio, BTCallName.Interface.audio, member, [.objectPath(call.path), .vardict(options.fields)],
            timeout: .seconds(40))
        return try Self.socket(answer, 0, of: member, format, isStream: isStream)
    }

    /// Answers all programs that ask to record a call (``BridgeEvent/recordingRequested(_:client:)``). A program cannot
    /// answer its own request, unless the call is its own.
    ///
    /// - Throws: `.wrongState` when no request is pending.
    public func allowRecording(of call: Call.ID, _ isAllowed: Bool = true) async throws(BridgeError) {
        try await connection.request(
            BTCallPath.audio, BTCallName.Interface.audio, BTCallName.Audio.allowRecording,
            [.objectPath(call.path), .bool(isAllowed)])
    }

    /// The socket in an answer, with the requested format.
    static func socket(
        _ answer: [Value], _ index: Int, of member: String, _ format: AudioFormat, isStream: Bool
    ) throws(BridgeError) -> AudioSocket {
        guard answer.indices.contains(index), let descriptor = answer[index].descriptorValue else {
            throw BridgeError(.failed, "btcalld answered \(member) without a descriptor")
        }
        return AudioSocket(descriptor, format, isStream: isStream)
    }

    private static func word(_ side: TapSide) -> TapOptions.Side {
        switch side {
        case .both, .stereo: .both
        case .local: .local
        case .remote: .remote
        }
    }
}
