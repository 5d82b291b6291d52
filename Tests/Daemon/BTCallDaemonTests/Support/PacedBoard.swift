import AudioEngine
import AudioPaths
import BTCallDaemon
import Configuration
import ControlLoop
import Routing
import TestSupport

/// Local devices on streams of alsa-lib that run on the machine's clock; microphones open on their own.
@ControlPlane
final class PacedBoard: PathOpening {
    /// All opened streams in order: `speakerphone playback`, `speakerphone capture`.
    private(set) var opened: [String] = []
    private(set) var speakers: [PacedCard] = []
    private(set) var microphones: [PacedCard] = []
    /// Devices without a microphone.
    var deaf: Set<LocalDevice> = []
    /// Whether another program has the microphones.
    var isBusy = false
    /// Whether another program has the loudspeakers, and how often one was tried meanwhile.
    var hasBusySpeakers = false
    private(set) var refusedSpeakers = 0
    /// Whether a microphone cannot be opened beside a loudspeaker.
    var isHalfDuplex = false
    /// Whether its devices play beside the calls.
    var hasOutputs = false
    /// The constant sample of the microphones.
    static let sample: Int16 = 8_000

    var openMicrophones: Int { microphones.filter(\.isOpen).count }
    var openSpeakers: Int { speakers.filter(\.isOpen).count }
    /// Whether the first microphone was started once, apart from restarts after overruns of a stalled machine.
    var wasStartedOnce: Bool { microphones.first.map { $0.xruns <= 1 && $0.starts == 1 + $0.xruns } ?? false }

    func microphone(of kind: LocalDevice) -> String? { deaf.contains(kind) ? nil : "\(kind)" }

    func openPath(_ kind: LocalDevice) throws(PathError) -> OpenPath { try openPlayback(kind) }

    func openPlayback(_ kind: LocalDevice) throws(PathError) -> OpenPath { try openSpeaker(kind, "playback") }

    func openOutput(_ device: OutputDevice) throws(PathError) -> OpenPath {
        guard hasOutputs, case .local(let kind) = device else {
            throw PathError(device: .speakerphone, what: "\(device) plays calls only", remedy: "none")
        }
        return try openSpeaker(kind, "output")
    }

    private func openSpeaker(_ kind: LocalDevice, _ use: String) throws(PathError) -> OpenPath {
        guard !hasBusySpeakers else {
            refusedSpeakers += 1
            throw PathError(device: kind, what: "paced is in use", remedy: "stop the other program", cause: .busy)
        }
        let card = try make(kind, nil)
        speakers.append(card)
        opened.append("\(kind) \(use)")
        let path = ALSAPath(
            playback: card.pcm, playbackRate: PacedCard.rate, playbackPeriodFrames: PacedCard.periodFrames,
            playbackBufferFrames: PacedCard.bufferFrames)
        return OpenPath(terminal: .path(path), summary: "paced") { card.close() }
    }

    func openCapture(_ kind: LocalDevice) throws(PathError) -> OpenCapture {
        guard !isBusy, !isHalfDuplex || openSpeakers == 0 else {
            throw PathError(device: kind, what: "paced is in use", remedy: "stop the other program", cause: .busy)
        }
        let card = try make(kind, Self.sample)
        microphones.append(card)
        opened.append("\(kind) capture")
        let stream = ALSACapture(
            pcm: card.pcm, rate: PacedCard.rate, periodFrames: PacedCard.periodFrames,
            bufferFrames: PacedCard.bufferFrames)
        return OpenCapture(stream: stream, summary: "paced") { card.close() }
    }

    func absence(of kind: LocalDevice) -> PathError? { nil }

    private func make(_ kind: LocalDevice, _ sample: Int16?) throws(PathError) -> PacedCard {
        do throws(PacedCard.Failure) {
            return try PacedCard(capturing: sample)
        } catch {
            throw PathError(device: kind, what: "\(error)", remedy: "see alsa-lib")
        }
    }
}
