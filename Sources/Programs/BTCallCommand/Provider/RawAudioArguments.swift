import ArgumentParser
import BTCall
import CallExchange
import CommandKit
import ControlLoop

/// Audio options of `btcall provider` and `btcall call report`.
struct RawAudioArguments: ParsableArguments, Sendable {
    @Option(
        help: ArgumentHelp(
            "Audio of the far end: 16-bit samples, little-endian, one channel, no header; a file or a FIFO.",
            valueName: "file"))
    var farEnd: String?

    @Option(
        help: ArgumentHelp("Write the call's audio to this file or FIFO, in the same format.", valueName: "file"))
    var record: String?

    @Option(
        help: "Sample rate of both in Hz: \(WaveFile.rates.map(String.init).joined(separator: ", ")).",
        transform: RawAudioArguments.rate)
    var rate = 16000

    /// - Returns: nil when the calls have no audio.
    @ControlPlane func audio() throws(CommandFailure) -> RawAudio? {
        guard farEnd != nil || record != nil else { return nil }
        return try RawAudio(farEnd: farEnd, recording: record)
    }

    private static func rate(_ text: String) throws -> Int {
        guard let rate = Int(text), WaveFile.rates.contains(rate) else {
            throw ValidationError("accepted: \(WaveFile.rates.map(String.init).joined(separator: ", "))")
        }
        return rate
    }
}
