import AudioEngine
package import Configuration
package import ControlLoop
package import Logging
import Routing
package import Telephony

/// The tones by which a network says what becomes of a call, where the application gives none: ringback while the other
/// party is rung, call waiting, busy and congestion. The person hears them where the calls are routed; the far end never does.
@ControlPlane
package final class CallTones {
    /// How long the tone of a call lasts that could not be made.
    private static let endLength = Duration.milliseconds(2_500)

    private let graph: AudioGraph
    private let logger: Logger
    package var configuration: RingConfiguration
    private var ringback: (call: CallID, playback: UInt32)?
    private var waiting: UInt32?
    private var end: UInt32?
    private var endTimer: Timer?
    /// The call that the end tone is for, while it is there.
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
        // Whoever is called or calls again is not told of the last call any more.
        let others = snapshot.calls.filter { $0.id != failed }
        if others.contains(where: { $0.state == .dialing || $0.state.isRinging }) { stopEnd() }
        if let failed, snapshot[failed] == nil { stopEnd() }
    }

    /// An outgoing call that nobody has answered is over as soon as its tone is.
    ///
    /// - Returns: how long the tone lasts; nil where there is none.
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
        // One that has yielded stays here, so that it does not begin anew.
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
            logger.error("a tone is not heard: \(error)")
            return nil
        }
    }
}
