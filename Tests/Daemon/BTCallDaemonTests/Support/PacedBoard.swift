import AudioEngine
import AudioPaths
import BTCallDaemon
import ControlLoop
import Routing
import TestSupport

/// Local devices on streams of alsa-lib that run by the machine's clock, whose microphones open by themselves.
@ControlPlane
final class PacedBoard: PathOpening {
    /// Everything that was opened, in order: `speakerphone playback`, `speakerphone capture`.
    private(set) var opened: [String] = []
    private(set) var speakers: [PacedCard] = []
    private(set) var microphones: [PacedCard] = []
    /// Devices without a microphone.
    var deaf: Set<LocalDevice> = []
    /// Another program has the microphones.
    var isBusy = false
    /// What they say.
    static let sample: Int16 = 8_000

    var openMicrophones: Int { microphones.filter(\.isOpen).count }
    var openSpeakers: Int { speakers.filter(\.isOpen).count }
    /// The first microphone was started once, and once more only where a machine that stood still had let it run over.
    var wasStartedOnce: Bool { microphones.first.map { $0.xruns <= 1 && $0.starts == 1 + $0.xruns } ?? false }

    func microphone(of kind: LocalDevice) -> String? { deaf.contains(kind) ? nil : "\(kind)" }

    func openPath(_ kind: LocalDevice) throws(PathError) -> OpenPath { try openPlayback(kind) }

    func openPlayback(_ kind: LocalDevice) throws(PathError) -> OpenPath {
        let card = try make(kind, nil)
        speakers.append(card)
        opened.append("\(kind) playback")
        let path = ALSAPath(
            playback: card.pcm, playbackRate: PacedCard.rate, playbackPeriodFrames: PacedCard.periodFrames,
            playbackBufferFrames: PacedCard.bufferFrames)
        return OpenPath(terminal: .path(path), summary: "paced") { card.close() }
    }

    func openCapture(_ kind: LocalDevice) throws(PathError) -> OpenCapture {
        guard !isBusy else {
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
