import AudioEngine
package import Configuration
package import ControlLoop
package import Logging
import Routing
package import Telephony

/// Plays the tones by which a network reports the progress of a call, if the application plays none: ringback, call waiting,
/// busy and congestion. The person hears them where the calls are routed; the far end never does.
@ControlPlane
package final class CallTones {
    /// Length of the tone of a failed call.
    private static let endLength = Duration.milliseconds(2_500)

    private let graph: AudioGraph
    private let logger: Logger
    package var configuration: RingConfiguration
    private var ringback: (call: CallID, playback: UInt32)?
    private var waiting: UInt32?
    private var end: UInt32?
    private var endTimer: Timer?
    /// The call of the end tone, while the call exists.
    private var failed: CallID?

    package init(graph: AudioGraph, configuration: RingConfiguration, logger: Logger) {
        self.graph = graph
        self.configuration = configuration
        self.logger = logger
    }

    package func follow(_ snapshot: CallSnapshot) {
        followRingback(snapshot)
        let isWaiting = snapshot.waiting != nil
        if isWaiting, waiting == nil {
            waiting = play(.waiting, at: .route)
        } else if !isWaiting, let playing = waiting {
            graph.engine.endPlayback(playing)
            waiting = nil
        }
        // A new outgoing or ringing call ends the tone of the last call.
        let others = snapshot.calls.filter { $0.id != failed }
        if others.contains(where: { $0.state == .dialing || $0.state.isRinging }) { stopEnd() }
        if let failed, snapshot[failed] == nil { stopEnd() }
    }

    /// Starts the end tone of an outgoing call that was not answered; the call ends with its tone.
    ///
    /// - Returns: the tone's length; nil if no tone is played.
    package func fail(_ call: CallID, _ reason: CallEndReason) -> Duration? {
        let signal: TonePlan.Signal
        switch reason {
        case .busy: signal = .busy
        case .error, .notFound: signal = .congestion
        case .localHangUp, .remoteHangUp, .rejected, .missed, .answeredElsewhere, .cancelled, .timedOut, .transferred,
            .providerGone:
            return nil
        }
        stopEnd()
        failed = call
        if let ringback {
            graph.engine.endPlayback(ringback.playback)
            self.ringback = nil
        }
        playEnd(signal)
        if end == nil { failed = nil }
        return end == nil ? nil : Self.endLength
    }

    package func stop() { stopEnd() }

    private func followRingback(_ snapshot: CallSnapshot) {
        let isTalking = snapshot.first(.active) != nil
        let call =
            isTalking || configuration.ringback == .no
            ? nil : snapshot.calls.first { $0.state == .alerting && $0.id != failed }?.id
        if let ringback, ringback.call != call {
            graph.engine.endPlayback(ringback.playback)
            self.ringback = nil
        }
        guard let call, ringback == nil else { return }
        var manner = PlaybackManner()
        manner.yieldsToCalls = configuration.ringback == .auto
        // Keep a ringback that has yielded, so that it does not restart.
        if let playback = play(.ringback, manner, at: .route) { ringback = (call, playback) }
    }

    private func playEnd(_ signal: TonePlan.Signal) {
        end = play(signal, at: .route)
        endTimer = ControlLoop.shared.schedule(after: Self.endLength) { [weak self] in self?.stopEnd() }
    }

    private func stopEnd() {
        endTimer?.cancel()
        endTimer = nil
        if let end { graph.engine.endPlayback(end) }
        end = nil
        failed = nil
    }

    private func play(
        _ signal: TonePlan.Signal, _ manner: PlaybackManner = PlaybackManner(), at place: PlaybackPlace
    ) -> UInt32? {
        guard let plan = configuration.tones else { return nil }
        do throws(AudioEngineError) {
            return try graph.play(.tone(plan.tone(signal)), manner, at: place)
        } catch {
            logger.error("a tone cannot be played: \(error)")
            return nil
        }
    }
}
