package import AudioDSP
package import BluetoothTypes
package import Configuration
package import ControlLoop
package import Routing
package import Telephony

/// Counters since the daemon started, and their text for a monitoring system.
///
/// Only sums, without addresses, numbers or names: they reveal nothing about people.
@ControlPlane
package final class Metrics {
    /// Values at the moment of the request.
    package struct Present: Sendable {
        package var version = ""
        package var calls = 0
        package var headsets = 0
        package var route: Route?
        package var isServicePresent = false
        package var problems = 0
        /// By kind of device, summed over all devices since the daemon started.
        package var audio: [String: LinkQuality] = [:]
        package var lateWakeUps = 0
        package var process = ProcessFigures()

        package init() {}
    }

    private struct SetUp: Hashable {
        let codec: VoiceCodec
        let result: String
    }

    private var callsEnded: [CallEndReason: Int] = [:]
    private var callsRefused = 0
    private var answered = Duration.zero
    private var routeChanges: [RouteChangeReason: Int] = [:]
    private var setUps: [SetUp: Int] = [:]
    private var serviceAppearances = 0
    private var hooks: [HookEvent: (runs: Int, failures: Int)] = [:]
    /// The highest values reported so far: a late packet reduces the count of lost ones, but a counter must never decrease.
    private var highest: [String: LinkQuality] = [:]

    package init() {}

    // MARK: Events

    /// - Parameter duration: time since the answer; zero for a call that was not answered.
    package func callEnded(_ reason: CallEndReason, after duration: Duration) {
        callsEnded[reason, default: 0] += 1
        answered += max(duration, .zero)
    }

    package func callRefused() { callsRefused += 1 }
    package func routeChanged(_ reason: RouteChangeReason) { routeChanges[reason, default: 0] += 1 }
    package func serviceAppeared() { serviceAppearances += 1 }

    /// Counts an attempt to set up a link with a codec.
    package func linkSetUp(_ codec: VoiceCodec, _ failure: AudioFailure?) {
        setUps[SetUp(codec: codec, result: Self.word(failure)), default: 0] += 1
    }

    package func hookEnded(_ event: HookEvent, isFailure: Bool) {
        hooks[event, default: (0, 0)].runs += 1
        if isFailure { hooks[event, default: (0, 0)].failures += 1 }
    }

    private static func word(_ failure: AudioFailure?) -> String {
        switch failure {
        case nil: "up"
        case .refused: "refused"
        case .busy: "busy"
        case .timedOut: "timedOut"
        case .unanswered: "unanswered"
        case .unsupportedCodec: "unsupportedCodec"
        case .failed: "failed"
        case .cancelled: "cancelled"
        }
    }

    // MARK: The text

    package func text(_ present: Present) -> String {
        var text = OpenMetricsText()
        text.begin("btcall_build", .info, "The version that runs.")
        text.add([("version", present.version)], 1)
        addCalls(present, to: &text)
        addRoutes(present, to: &text)
        addAudio(present, to: &text)
        addService(present, to: &text)
        present.process.add(to: &text)
        return text.text
    }

    private func addCalls(_ present: Present, to text: inout OpenMetricsText) {
        text.begin("btcall_calls", .gauge, "Current calls.")
        text.add(present.calls)
        text.begin("btcall_calls_ended", .counter, "Calls that have ended, by reason.")
        for reason in CallEndReason.allCases { text.add([("reason", reason.rawValue)], callsEnded[reason] ?? 0) }
        text.begin("btcall_calls_refused", .counter, "Incoming calls that were refused and did not ring.")
        text.add(callsRefused)
        text.begin(
            "btcall_calls_answered_seconds", .counter, unit: "seconds",
            "Total duration of answered calls that have ended.")
        text.add(answered)
    }

    private func addRoutes(_ present: Present, to text: inout OpenMetricsText) {
        text.begin("btcall_headsets", .gauge, "Headsets whose calls or music are connected.")
        text.add(present.headsets)
        let word = AudioKind.word(present.route)
        text.begin("btcall_route", .stateset, "The device that has the audio; all 0: none.")
        for kind in AudioKind.routes { text.add([("btcall_route", kind)], kind == word ? 1 : 0) }
        text.begin("btcall_route_changes", .counter, "Route changes, by reason.")
        for reason in RouteChangeReason.allCases { text.add([("reason", reason.rawValue)], routeChanges[reason] ?? 0) }
        text.begin(
            "btcall_link_setups", .counter, "Attempts to set up a headset's voice link, by codec and result.")
        for codec in [VoiceCodec.cvsd, .mSBC] where setUps[SetUp(codec: codec, result: "up")] == nil {
            text.add(Self.labels(SetUp(codec: codec, result: "up")), 0)
        }
        for (setUp, count) in setUps.sorted(by: {
            ("\($0.key.codec)", $0.key.result) < ("\($1.key.codec)", $1.key.result)
        }) {
            text.add(Self.labels(setUp), count)
        }
    }

    private static func labels(_ setUp: SetUp) -> [(name: String, value: String)] {
        [("codec", "\(setUp.codec)"), ("result", setUp.result)]
    }

    private func addAudio(_ present: Present, to text: inout OpenMetricsText) {
        for kind in AudioKind.all { highest[kind] = Self.highest(highest[kind], present.audio[kind]) }
        func add(_ name: String, unit: String? = nil, _ help: String, _ value: (LinkQuality) -> Double) {
            text.begin(name, .counter, unit: unit, help)
            for kind in AudioKind.all { text.add([("device", kind)], value(highest[kind] ?? LinkQuality())) }
        }
        add("btcall_audio_packets_received", "Packets received from headsets.") { Double($0.packetsReceived) }
        add("btcall_audio_packets_lost", "Packets received damaged, or not at all.") { Double($0.packetsLost) }
        add("btcall_audio_concealed_seconds", unit: "seconds", "Audio concealed because packets were lost or late.") {
            $0.concealed / .seconds(1)
        }
        add("btcall_audio_dropped_seconds", unit: "seconds", "Audio dropped by btcalld.") {
            $0.dropped / .seconds(1)
        }
        add("btcall_audio_silences", "Number of times a link counted as silent.") { Double($0.gaps) }
        add("btcall_audio_xruns", "Number of sound card underruns and overruns.") { Double($0.xruns) }
        text.begin("btcall_audio_late_wakeups", .counter, "Number of times the audio thread was more than 20 ms late.")
        text.add(present.lateWakeUps)
    }

    private func addService(_ present: Present, to text: inout OpenMetricsText) {
        text.begin("btcall_bluetoothd_up", .gauge, "Whether bluetoothd is on the bus.")
        text.add(present.isServicePresent ? 1 : 0)
        text.begin("btcall_bluetoothd_appearances", .counter, "Number of times bluetoothd appeared on the bus.")
        text.add(serviceAppearances)
        text.begin("btcall_problems", .gauge, "Current problems, as listed by btcall status.")
        text.add(present.problems)
        text.begin("btcall_hook_runs", .counter, "Commands of [hooks] and [buttons] that have ended.")
        for event in HookEvent.allCases { text.add([("event", event.rawValue)], hooks[event]?.runs ?? 0) }
        text.begin(
            "btcall_hook_failures", .counter,
            "Commands of [hooks] and [buttons] that failed, were killed, or could not be started.")
        for event in HookEvent.allCases { text.add([("event", event.rawValue)], hooks[event]?.failures ?? 0) }
    }

    private static func highest(_ old: LinkQuality?, _ new: LinkQuality?) -> LinkQuality {
        guard let old else { return new ?? LinkQuality() }
        guard let new else { return old }
        var result = new
        result.packetsReceived = max(old.packetsReceived, new.packetsReceived)
        result.packetsLost = max(old.packetsLost, new.packetsLost)
        result.concealed = max(old.concealed, new.concealed)
        result.dropped = max(old.dropped, new.dropped)
        result.gaps = max(old.gaps, new.gaps)
        result.xruns = max(old.xruns, new.xruns)
        return result
    }
}

/// The kinds of devices by which audio is counted.
package enum AudioKind {
    package static let headset = "headset"
    package static let a2dp = "a2dp"
    /// Devices that play audio beside the calls.
    package static let other = "other"
    package static let routes = [headset, a2dp] + LocalDevice.allCases.map(\.rawValue)
    package static let all = routes + [other]

    package static func word(_ route: Route?) -> String? {
        switch route {
        case nil: nil
        case .local(let kind): kind.rawValue
        case .headset(_, .hfp): headset
        case .headset(_, .a2dp): a2dp
        }
    }
}
