package import AudioPaths
import BTCallAPI
package import ControlLoop
package import Diagnostics
import Routing
import Telephony

/// Notices calls that nobody hears, and the reason: the problems `noDevice` and `callAudio`, and `Call1.AudioProblem`.
@ControlPlane
package final class CallAudibility {
    private static let noDevice = "noDevice"
    private static let noExchange = "callAudio"

    private struct Lack {
        let what: String
        let remedy: String
        /// Whether a call exists; otherwise the next one would be silent.
        let isInCall: Bool
    }

    private let calls: CallDirectory
    private let router: any RouteDeciding
    private let hasLocalDevices: Bool
    private let delay: Duration
    private let problems: ProblemList
    private var timer: Timer?
    /// Whether a device has been missing for the whole of `delay`.
    private var isLacking = false
    private var isStopped = false

    /// - Parameters:
    ///   - hasLocalDevices: whether the configuration has sections for devices of the board.
    ///   - delay: how long a device has to be missing before the problem is raised.
    package init(
        calls: CallDirectory, quality: CallQualityMonitor, router: any RouteDeciding, hasLocalDevices: Bool,
        delay: Duration, problems: ProblemList
    ) {
        self.calls = calls
        self.router = router
        self.hasLocalDevices = hasLocalDevices
        self.delay = delay
        self.problems = problems
        router.notices.subscribe(self) { audibility, _ in audibility.follow() }
        calls.changes.subscribe(self) { audibility, _ in audibility.follow() }
        quality.exchanges.subscribe(self) { $0.follow() }
        follow()
    }

    package func stop() {
        isStopped = true
        timer?.cancel()
    }

    private func follow() {
        guard !isStopped else { return }
        let lack = lack
        if lack == nil {
            timer?.cancel()
            timer = nil
            isLacking = false
            problems.end(Self.noDevice)
        } else if !isLacking, timer == nil {
            timer = ControlLoop.shared.schedule(after: delay) { [weak self] in
                guard let self else { return }
                timer = nil
                isLacking = true
                follow()
            }
        }
        let shown = isLacking ? lack : nil
        if let shown { problems.begin(Self.noDevice, what: shown.what, remedy: shown.remedy) }
        show(shown.flatMap { $0.isInCall ? $0 : nil })
    }

    /// - Parameter lack: why no device carries any call.
    private func show(_ lack: Lack?) {
        var silent: CallRecord?
        for record in calls.calls {
            if record.isUnexchanged { silent = silent ?? record }
            let problem = record.isUnexchanged ? Self.silence(of: record) : record.hasSpeech ? lack?.what : nil
            guard problem != record.audioProblem else { continue }
            record.audioProblem = problem
            calls.properties.send((record, [BTCallName.Call.audioProblem]))
        }
        guard let silent else { return problems.end(Self.noExchange) }
        problems.begin(
            Self.noExchange, what: "call \(silent.call.index) has no audio: \(Self.silence(of: silent))",
            remedy: """
                have \(silent.provider.name) take the descriptor of CallProvider1.AudioReady, and send a block for each that \
                it reads; with audio = pcm it uses the ALSA PCM btcall:call instead
                """)
    }

    private static func silence(of record: CallRecord) -> String {
        let name = record.provider.name
        if let refusal = record.audioRefusal { return refusal }
        if record.isAudioClosed { return "\(name) has closed the audio that it was given" }
        return "\(name) neither reads nor answers the audio that it was given"
    }

    // MARK: Devices

    private var lack: Lack? {
        let policy = router.policy
        guard policy.started, !policy.configuration.manualRendering else { return nil }
        let isAnyAvailable = !policy.availableDevices.isEmpty
        switch policy.suspension {
        case .stopped, .interrupted, .manualRendering, .sessionInactive: return nil
        case .noCall:
            // A paired headset may be switched on before the next call.
            guard !isAnyAvailable, !policy.knowsHeadsets else { return nil }
            return Lack(
                what: "no device could carry a call: nobody would hear it", remedy: remedy(policy), isInCall: false)
        case .held, .parked, .ringing:
            guard !isAnyAvailable else { return nil }
        case nil:
            // With push to talk a headset may have no link until somebody talks.
            guard policy.current == nil, policy.pending == nil, !policy.hasRestingHeadset else { return nil }
        }
        return Lack(
            what: "no device carries the call: nobody hears it",
            remedy: isAnyAvailable ? "`btcall why` says what keeps each device from it" : remedy(policy), isInCall: true
        )
    }

    private func remedy(_ policy: RoutingPolicy) -> String {
        let headset = policy.knowsHeadsets ? "switch a paired headset on" : "pair a headset (`btcall headset pair`)"
        return hasLocalDevices
            ? "`btcall devices` says why none is available; or \(headset)"
            : "\(headset), or configure [device speakerphone] with playback and capture: `btcall setup` proposes them"
    }
}
