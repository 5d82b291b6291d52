package import BTCall
package import CallExchange
package import ControlLoop
import Glibc
import JSONText

/// Reports the progress of the test call to the person, and summarises it.
@ControlPlane
package final class TestCallReport {
    private let output: Output
    private let isJSON: Bool
    private var call: Call.ID?
    private var plan: TestCall.Plan?
    private var number: String?
    private var tones = ""
    /// The present or last route of the call.
    package private(set) var route = DeviceChoice.none
    /// Whether a device carried the answered call.
    private var wasCarried = false
    private var changes: [JSON] = []
    private var answeredAt: WallClock?
    private var endedAt: WallClock?
    private var reason: String?
    private var answeredByPerson = false
    private var counters = AudioExchange.Counters()

    /// - Parameter isJSON: prints only one object at the end.
    package init(_ output: Output, isJSON: Bool) {
        self.output = output
        self.isJSON = isJSON
    }

    /// Whether there was a call with audio.
    package var tookPlace: Bool { answeredAt != nil && counters.blocksReceived > 0 }

    /// Whether the person could hear it, too: a device carried it.
    package var wasHeard: Bool { tookPlace && wasCarried }

    package func waitsForDialling() { say("waiting until somebody dials") }

    /// - Parameter number: the plan's, or the dialled one.
    package func offered(_ call: Call.ID, _ plan: TestCall.Plan, _ number: String) {
        self.call = call
        self.plan = plan
        self.number = number
        let rings = plan.answerAfter == nil ? ", waiting for it to be answered" : ""
        say(plan.direction == .incoming ? "incoming call from \(number)\(rings)" : "calling \(number)")
    }

    package func routeIs(_ route: DeviceChoice) {
        self.route = route
    }

    package func routeChanged(_ new: DeviceChoice, reason: String) {
        route = new
        noteCarrier()
        changes.append([
            "time": .string(WallClock.now.iso8601), "route": new == .none ? .null : .string(new.description),
            "reason": .string(reason),
        ])
        say("route: \(new) (\(reason))")
    }

    package func stateChanged(_ state: Call.State) {
        if state == .active && answeredAt == nil { answeredAt = .now }
        noteCarrier()
        say("call: \(state.rawValue)")
    }

    package func answered() {
        answeredByPerson = true
        say("answered by a headset or another program")
    }

    package func asked(toEnd reason: String) {
        say("ended by a headset or another program (\(reason))")
    }

    package func audioBegan() { say("audio: open") }

    package func audioEnded() { say("audio: closed") }

    package func button(_ button: String, address: String) { say("button: \(button) on \(address)") }

    package func muted(_ muted: Bool) { say(muted ? "microphone muted" : "microphone on") }

    package func tones(_ tones: String) {
        self.tones += tones
        say("tones: \(tones)")
    }

    package func levels(_ levels: AudioExchange.Levels) {
        let seconds = answeredAt.map { (WallClock.now.milliseconds - $0.milliseconds) / 1000 } ?? 0
        let clock = "\(seconds / 60):" + (seconds % 60 < 10 ? "0" : "") + "\(seconds % 60)"
        // Without a device the call receives comfort noise, and nobody hears its audio.
        guard route != .none else { return say("\(clock)  no device carries the call: nothing is heard here") }
        say("\(clock)  \(route)  far end \(Self.meter(levels.sent))  microphone \(Self.meter(levels.received))")
    }

    private func noteCarrier() {
        if answeredAt != nil, endedAt == nil, route != .none { wasCarried = true }
    }

    package func callEnded(reason: String?) {
        endedAt = .now
        self.reason = reason
        say("call: ended" + (reason.map { " (\($0))" } ?? ""))
    }

    /// Prints the summary, or the JSON object.
    package func ended(_ counters: AudioExchange.Counters) {
        self.counters = counters
        guard call != nil else { return }
        if isJSON {
            output.print(json)
        } else {
            for line in summary { output.print(line) }
        }
    }

    private func say(_ text: String) {
        guard !isJSON else { return }
        output.print("\(WallClock.now.timeOfDay)  \(text)")
    }

    private var talkMs: Int64 {
        guard let answeredAt else { return 0 }
        return (endedAt ?? .now).milliseconds - answeredAt.milliseconds
    }

    private var summary: [String] {
        var facts = Facts()
        facts.add("Call", tookPlace ? "took place, \(Self.seconds(talkMs))" : "did not take place\(explanation)")
        if tookPlace, !wasCarried {
            facts.add("Heard", "by nobody: no device carried the call; see `btcall status` and `btcall why`")
        }
        if let reason { facts.add("Ended", reason) }
        facts.add("Route", route.description + (changes.count > 1 ? ", after \(changes.count) changes" : ""))
        facts.add("Blocks", "\(counters.blocksReceived) received, \(counters.blocksSent) sent")
        facts.add(
            "Gaps",
            counters.gaps == 0
                ? "none, longest pause \(counters.longestGapMs) ms"
                : "\(counters.gaps) longer than \(AudioExchange.gapMs) ms, longest \(counters.longestGapMs) ms")
        if counters.blocksRefused > 0 { facts.add("Refused", "\(counters.blocksRefused) blocks") }
        if let path = plan?.recording { facts.add("Recording", path) }
        return [""] + facts.lines
    }

    private var explanation: String {
        answeredAt == nil ? ": it was not answered" : ": no audio came"
    }

    private var json: JSON {
        [
            "call": JSON(call?.description),
            "direction": JSON(plan?.direction.rawValue),
            "number": JSON(number),
            "tones": JSON(tones.isEmpty ? nil : tones),
            "tookPlace": JSON(tookPlace),
            "heard": JSON(wasHeard),
            "answeredByPerson": JSON(answeredByPerson),
            "startedAt": JSON(answeredAt?.iso8601),
            "endedAt": JSON(endedAt?.iso8601),
            "talkMilliseconds": JSON(Int(talkMs)),
            "reason": JSON(reason),
            "route": route == .none ? .null : .string(route.description),
            "routes": .array(changes),
            "blocksReceived": JSON(counters.blocksReceived),
            "blocksSent": JSON(counters.blocksSent),
            "blocksRefused": JSON(counters.blocksRefused),
            "gaps": JSON(counters.gaps),
            "longestGapMilliseconds": JSON(counters.longestGapMs),
            "file": JSON(plan?.recording),
        ]
    }

    /// Ten steps of 6 dB below full scale: `######....  -24 dB`.
    package nonisolated static func meter(_ peak: Int) -> String {
        guard peak > 0 else { return "..........  silent" }
        let decibels = 20 * log10(Double(peak) / 32768)
        let steps = max(0, min(10, 10 + Int((decibels / 6).rounded(.up))))
        let number = decibels.whole
        return String(repeating: "#", count: steps) + String(repeating: ".", count: 10 - steps)
            + String(repeating: " ", count: max(1, 5 - number.count)) + number + " dB"
    }

    private static func seconds(_ milliseconds: Int64) -> String {
        "\(milliseconds / 1000).\(milliseconds % 1000 / 100) s"
    }
}
