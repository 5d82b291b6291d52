import BTCallAPI
import DBus

/// What an application in place of the devices has.
///
/// The daemon is the clock: write one block for each block that is read, one or two ahead. What is not there in time is
/// silence, what is not read in time is lost; both are counted. Closing either ends it, and devices take the call.
public struct ManualAudio: Sendable {
    /// What is written goes to the far end of all calls.
    public let uplink: AudioSocket
    /// What the calls say.
    public let downlink: AudioSocket
}

/// A copy of a call, one message for each 10 ms, or a stream: only to be read. What is not read in time is lost, and counted.
///
/// It ends with the call. While the call is held nothing comes.
public typealias AudioTap = AudioSocket

extension BridgeAudio {
    /// Which side of a call a tap is of.
    public enum TapSide: String, Hashable, Sendable, CaseIterable {
        /// Both, added up.
        case both
        /// The near end, as it is sent to the far end.
        case local
        /// The far end.
        case remote
        /// Two channels: the near end left, the far end right.
        case stereo
    }

    /// Puts this program in the place of the devices, none of which is opened meanwhile: it hears the calls, and the far end
    /// of each hears it.
    ///
    /// - Parameters:
    ///   - rate: 8000, 16000, 24000, 32000, 44100 or 48000 frames per second, both ways.
    ///   - channels: 1 or 2. Both get the same; of what is written their mean is taken.
    ///   - isStream: the same bytes without borders between messages.
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

    /// Opens a copy of a call. Where the daemon asks somebody first, this waits for the answer, at most half a minute.
    ///
    /// - Parameters:
    ///   - rate: 8000, 16000, 24000, 32000, 44100 or 48000 frames per second.
    ///   - isStream: the same bytes without borders between messages.
    /// - Throws: `.accessDenied` where it may not, `.noSuchCall`, `.wrongState` when too many programs record.
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

    /// Answers the programs that ask to record a call (``BridgeEvent/recordingRequested(_:client:)``). None answers itself,
    /// unless the call is its own.
    ///
    /// - Throws: `.wrongState` when none asks.
    public func allowRecording(of call: Call.ID, _ isAllowed: Bool = true) async throws(BridgeError) {
        try await connection.request(
            BTCallPath.audio, BTCallName.Interface.audio, BTCallName.Audio.allowRecording,
            [.objectPath(call.path), .bool(isAllowed)])
    }

    /// A descriptor of an answer, with the format that was asked for.
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
