import BTCall
import CommandKit
import ControlLoop

/// The view of `btcall status --watch`: turns the state and a size into lines.
struct LiveView: Sendable {
    typealias Size = TerminalScreen.Size

    enum Bridge: Sendable {
        /// btcalld is absent or does not answer; the reason in words.
        case absent(String)
        case present(BridgeStatus)
    }

    var bridge: Bridge
    /// The evaluation of the policy in words, line by line (``RouteExplanation/text``).
    var explanation: [String] = []
    /// The same evaluation; nil before it is known.
    var decision: RouteExplanation?
    /// Nil while no audio is exchanged.
    var levels: AudioLevels?
    /// Time of the request to btcalld that is pending.
    var askedAt: WallClock?
    /// Reason why a key failed.
    var notice: String?
    var now: WallClock

    init(_ bridge: Bridge, now: WallClock) {
        self.bridge = bridge
        self.now = now
    }

    /// At most `size.rows` lines, the keys in the last row.
    func lines(_ size: Size) -> [ScreenLine] {
        guard size.rows > 0 else { return [] }
        var header = ScreenLine()
        header.add("btcall", .strong)
        var body: [[ScreenLine]]
        switch bridge {
        case .absent(let message):
            header.add("  ")
            header.add("waiting for btcalld", .bad)
            body = [TerminalText.wrapped(PrintableText.line(message), size.columns).map { Self.line($0) }]
        case .present(let status):
            add(status, to: &header)
            // Most important first; the end is cut off first.
            body = [
                route(status), problems(status, size), calls(status), audio(status, size), devices(status, size),
            ]
        }
        let clock = "  " + now.timeOfDay.prefix(8)
        header.add(String(repeating: " ", count: max(0, size.columns - header.columns - clock.count)) + clock, .faint)
        if size.rows == 1 { return [header] }
        body = Self.shortened(body.filter { !$0.isEmpty }, to: size.rows - 2)
        var lines = [header] + body.flatMap { $0 }
        if lines.count + body.count < size.rows { lines = [header] + body.flatMap { [ScreenLine()] + $0 } }
        lines = Array(lines.prefix(size.rows - 1))
        lines += Array(repeating: ScreenLine(), count: size.rows - 1 - lines.count)
        return lines + [footer]
    }

    /// Removes lines from the last section down to its first line and a line that says so, then from the section before it.
    private static func shortened(_ sections: [[ScreenLine]], to rows: Int) -> [[ScreenLine]] {
        var sections = sections
        var excess = sections.reduce(0) { $0 + $1.count } - max(rows, 0)
        for index in sections.indices.reversed() where excess > 0 && sections[index].count > 1 {
            let removed = min(excess + 1, sections[index].count - 1)
            guard removed > 1 else { continue }
            sections[index].removeLast(removed)
            var more = ScreenLine(label: "")
            more.add("\(removed) more lines", .faint)
            sections[index].append(more)
            excess -= removed - 1
        }
        return sections
    }

    private static func line(_ text: String) -> ScreenLine {
        var line = ScreenLine()
        line.add(text)
        return line
    }

    private var footer: ScreenLine {
        var line = ScreenLine()
        line.add("q quit  m mute", .faint)
        if let notice { line.add("  " + notice, .bad) }
        return line
    }

    private func add(_ status: BridgeStatus, to header: inout ScreenLine) {
        if let askedAt, now.milliseconds - askedAt.milliseconds >= 2000 {
            header.add("  no answer for \((now.milliseconds - askedAt.milliseconds) / 1000) s", .bad)
            return
        }
        header.add("  \(status.version)  ", .faint)
        if status.state != .active {
            header.add("profiles \(status.state.rawValue)", .warning)
        } else if !status.isStarted {
            header.add("stopped: calls use the system's own device", .warning)
        } else {
            header.add("active", .good)
        }
    }

    // MARK: Sections

    private func route(_ status: BridgeStatus) -> [ScreenLine] {
        var route = ScreenLine(label: "Route")
        let link = [status.mode?.uppercased(), status.codec].compactMap { $0 }.joined(separator: " ")
        if status.route == .none {
            route.add("none", status.calls.contains { $0.state == .active } ? .bad : .plain)
        } else {
            let name = status.devices.first { $0.choice == status.route }?.name
            route.add(name ?? status.route.description, .good)
            if !link.isEmpty { route.add("  " + link) }
            if let name, name != status.route.description { route.add("  " + status.route.description, .faint) }
        }
        var lines = [route]
        if let reason = why(status) {
            var line = ScreenLine(label: "Why")
            line.add(reason)
            lines.append(line)
        }
        if status.pending != .none {
            var line = ScreenLine(label: "Opening")
            line.add(status.devices.first { $0.choice == status.pending }?.name ?? status.pending.description, .warning)
            lines.append(line)
        }
        if !status.interruptions.isEmpty {
            var line = ScreenLine(label: "Taken by")
            line.add(status.interruptions.joined(separator: ", "), .warning)
            lines.append(line)
        }
        return lines
    }

    /// The level that decided, and the reason for the last change of route: `2 preferred: bluetooth (callStarted)`.
    private func why(_ status: BridgeStatus) -> String? {
        // Its device is the route, and its verdict is eligible.
        let chosen = explanation.first { $0.hasPrefix("* ") }.map { line in
            line.dropFirst(2).split(separator: " ").prefix { $0 != "->" && $0 != "—" }.joined(separator: " ")
        }
        let suspended = explanation.first { $0.hasPrefix("not decided") }
        let reason = status.reason.map { "(\($0))" }
        let parts = [suspended ?? chosen, reason].compactMap { $0 }
        return parts.isEmpty ? nil : parts.joined(separator: " ")
    }

    private func problems(_ status: BridgeStatus, _ size: Size) -> [ScreenLine] {
        let width = max(size.columns - ScreenLine.labelColumns, 10)
        return status.problems.flatMap { problem in
            var lines: [ScreenLine] = []
            for (index, part) in TerminalText.wrapped(PrintableText.line(problem.what), width).enumerated() {
                var line = ScreenLine(label: index == 0 ? "Problem" : "")
                line.add(part, .bad)
                lines.append(line)
            }
            for part in TerminalText.wrapped(PrintableText.line(problem.remedy), width) {
                var line = ScreenLine(label: "")
                line.add(part)
                lines.append(line)
            }
            return lines
        }
    }

    private func calls(_ status: BridgeStatus) -> [ScreenLine] {
        guard !status.calls.isEmpty else {
            var line = ScreenLine(label: "Calls")
            line.add("none", .faint)
            return [line]
        }
        return status.calls.flatMap { call in
            var line = ScreenLine(label: call.direction == .incoming ? "Call in" : "Call out")
            line.add(TerminalText.fitted(call.state.rawValue, 9), Self.tint(call.state))
            line.add(duration(call).map { $0 + "  " } ?? "")
            line.add(call.party, .strong)
            line.add(", by \(call.provider)", .faint)
            if call.isRecorded { line.add("  recorded", .warning) }
            var lines = [line]
            if let quality = call.quality { lines.append(Self.quality(quality, "\(quality.durationMs / 1000) s")) }
            if let total = call.totalQuality { lines.append(Self.quality(total, "in all")) }
            return lines
        }
    }

    private static func tint(_ state: Call.State) -> ScreenLine.Tint {
        switch state {
        case .active: .good
        case .ringing, .waiting, .dialing, .alerting: .warning
        case .held, .ended: .plain
        }
    }

    /// Time since it became active, for example `1:07`, `1:02:03`; nil before.
    private func duration(_ call: Call) -> String? {
        guard let started = call.startedAtMs else { return nil }
        let seconds = max(0, (now.milliseconds - started) / 1000)
        func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let end = two(seconds % 60)
        return seconds < 3600
            ? "\(seconds / 60):\(end)" : "\(seconds / 3600):\(two(seconds / 60 % 60)):\(end)"
    }

    /// Losses of the link, and how they were handled.
    private static func quality(_ quality: CallQuality, _ period: String) -> ScreenLine {
        var line = ScreenLine(label: "  " + period)
        if let score = quality.score {
            line.add("quality \(right(score, 3))", score >= 80 ? .good : score >= 50 ? .warning : .bad)
        } else {
            line.add("quality   -", .faint)
        }
        if quality.packets > 0 {
            add("lost", quality.lost, of: quality.packets, to: &line)
        }
        if quality.durationMs > 0 {
            add("made up", quality.concealedMs, of: quality.durationMs, to: &line)
            if quality.droppedMs > 0 { add("dropped", quality.droppedMs, of: quality.durationMs, to: &line) }
        }
        if quality.jitterMs > 0 { line.add("  jitter \(quality.jitterMs.tenths) ms") }
        if quality.gaps > 0 { line.add("  gaps \(quality.gaps)", .bad) }
        if quality.xruns > 0 { line.add("  xruns \(quality.xruns)", .bad) }
        if quality.retries > 0 { line.add("  retries \(quality.retries)", .warning) }
        return line
    }

    private static func add(_ label: String, _ part: Int, of whole: Int, to line: inout ScreenLine) {
        let share = 100 * Double(part) / Double(whole)
        let tint: ScreenLine.Tint = share >= 5 ? .bad : share >= 1 ? .warning : .plain
        line.add("  \(label) ")
        line.add("\(right(share.tenths, 4)) %", tint)
    }

    private static func right(_ value: some CustomStringConvertible, _ width: Int) -> String {
        let text = value.description
        return String(repeating: " ", count: max(0, width - text.count)) + text
    }

    // MARK: Levels

    private func audio(_ status: BridgeStatus, _ size: Size) -> [ScreenLine] {
        guard status.calls.contains(where: { $0.state == .active || $0.state == .held }) || levels != nil else {
            return []
        }
        var microphone = ScreenLine(label: "Mic")
        let off = status.isMicrophoneEnabled ? (status.isMuted ? "muted" : nil) : "off"
        Self.add(levels?.said, off: off, to: &microphone, size)
        var speaker = ScreenLine(label: "Speaker")
        Self.add(levels?.heard, off: nil, to: &speaker, size)
        return [microphone, speaker]
    }

    /// Lower end of a meter in decibels.
    private static let meterFloor = -60.0

    private static func add(_ level: AudioLevels.Level?, off: String?, to line: inout ScreenLine, _ size: Size) {
        let width = min(max(size.columns - ScreenLine.labelColumns - 24, 8), 40)
        let rms = columns(level?.rmsDecibels, width)
        let peak = columns(level?.peakDecibels, width)
        line.add("[", .faint)
        line.add(String(repeating: "#", count: rms), (level?.peakDecibels ?? meterFloor) > -3 ? .bad : .good)
        if peak > rms {
            line.add(String(repeating: "-", count: peak - rms - 1), .faint)
            line.add("|")
        }
        line.add(String(repeating: " ", count: width - max(peak, rms)))
        line.add("]", .faint)
        if let off {
            line.add(" \(off)", .warning)
        } else if let level {
            let isSilent = level.peakDecibels <= -96
            line.add(isSilent ? " silent" : " \(right(level.rmsDecibels.whole, 3)) dB")
            if !isSilent { line.add(", peak \(right(level.peakDecibels.whole, 3))", .faint) }
        } else {
            line.add(" no audio", .faint)
        }
    }

    private static func columns(_ decibels: Double?, _ width: Int) -> Int {
        guard let decibels, !decibels.isNaN else { return 0 }
        let share = (decibels - meterFloor) / -meterFloor
        return Int((min(max(share, 0), 1) * Double(width)).rounded())
    }

    // MARK: Devices

    private func devices(_ status: BridgeStatus, _ size: Size) -> [ScreenLine] {
        // Available devices first.
        let devices = status.devices.filter(\.isAvailable) + status.devices.filter { !$0.isAvailable }
        let names = devices.map { TerminalText.columns(PrintableText.line($0.name)) }
        let width = min(max(names.max() ?? 0, 4), max(size.columns - ScreenLine.labelColumns - 34, 12))
        return devices.enumerated().map { index, device in
            var line = ScreenLine(label: index == 0 ? "Devices" : "")
            let isUsed = device.choice == status.route
            let name = TerminalText.fitted(PrintableText.line(device.name), width) + "  "
            line.add(isUsed ? "* " : "  ", .good)
            line.add(name, device.isAvailable ? .plain : .faint)
            line.add(TerminalText.fitted(device.state, 11) + "  ", Self.tint(device))
            guard device.isAvailable else {
                line.add(device.unavailableBecause ?? "", .faint)
                return line
            }
            let codec = isUsed ? status.codec ?? device.codecs.first : device.codecs.first
            let link = [device.mode?.uppercased(), codec].compactMap { $0 }.joined(separator: " ")
            line.add(TerminalText.fitted(link, 11))
            if let battery = device.battery {
                line.add(Self.right(battery, 3) + " %", battery < 15 ? .bad : battery < 30 ? .warning : .plain)
            }
            if let reason = device.codecReason { line.add("  a lower codec, because \(reason)", .warning) }
            return line
        }
    }

    private static func tint(_ device: AudioDevice) -> ScreenLine.Tint {
        switch device.state {
        case "active": .good
        case "pending", "settling", "waiting": .warning
        case "silent", "penalty": .bad
        default: device.isAvailable ? .plain : .faint
        }
    }
}
