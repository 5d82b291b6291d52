import AudioDSP
import AudioEngine
package import AudioPaths
package import ControlLoop
package import Logging
package import Talk

/// Plays the tones of push to talk where the calls are routed; the far end does not hear them.
@ControlPlane
package final class TalkTones {
    private let graph: AudioGraph
    private let logger: Logger
    private var playing: UInt32?
    private var timer: Timer?

    package init(graph: AudioGraph, logger: Logger) {
        self.graph = graph
        self.logger = logger
    }

    /// Plays a tone from its beginning; it replaces one that still plays.
    package func play(_ tone: TalkTone) {
        stop()
        let (specification, length) = Self.sound(of: tone)
        do throws(AudioEngineError) {
            playing = try graph.play(.tone(specification), PlaybackManner(), at: .route)
        } catch {
            logger.error("a tone of push to talk cannot be played: \(error)")
            return
        }
        timer = ControlLoop.shared.schedule(after: length) { [weak self] in self?.stop() }
    }

    package func stop() {
        timer?.cancel()
        timer = nil
        if let playing { graph.engine.endPlayback(playing) }
        playing = nil
    }

    /// The permission is high and short, as on radios: three beeps. What went wrong is low and longer.
    private static func sound(of tone: TalkTone) -> (ToneSpecification, length: Duration) {
        switch tone {
        case .permit: (ToneSpecification([910], cadence: [50, 30]), .milliseconds(210))
        case .refused: (ToneSpecification([310]), .milliseconds(500))
        case .over: (ToneSpecification([620]), .milliseconds(80))
        case .timedOut: (ToneSpecification([310], cadence: [100, 100]), .milliseconds(900))
        }
    }
}
