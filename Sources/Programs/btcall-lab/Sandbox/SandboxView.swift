import BTCallBench
import CommandKit
import ControlLoop
import Glibc

/// The view of `btcall-lab sandbox`: turns the state and a size into lines.
struct SandboxView {
    var state: SandboxState
    /// Newest last.
    var story: [String] = []
    var now: WallClock

    private static let nameColumns = 14
    /// Keys that are not shown beside a device.
    private static let keys: [SandboxKey] = [.callOut, .callIn, .answer, .end, .farEndHangsUp, .mute]

    /// `size.rows` lines, the keys in the last row.
    func lines(_ size: TerminalScreen.Size) -> [ScreenLine] {
        guard size.rows > 0 else { return [] }
        let top = header(size) + [ScreenLine()] + route + [ScreenLine()] + devices(size) + [ScreenLine()]
        let bottom = [footer]
        // The story uses the remaining rows.
        let room = max(0, size.rows - top.count - bottom.count)
        var middle = story.suffix(room).map { text in
            var line = ScreenLine()
            line.add(text, .faint)
            return line
        }
        middle += Array(repeating: ScreenLine(), count: room - middle.count)
        let upper = (top + middle).prefix(max(0, size.rows - bottom.count))
        return Array((upper + bottom).suffix(size.rows))
    }

    private func header(_ size: TerminalScreen.Size) -> [ScreenLine] {
        var title = ScreenLine()
        title.add("btcall-lab sandbox", .strong)
        let clock = "  " + now.timeOfDay.prefix(8)
        title.add(String(repeating: " ", count: max(0, size.columns - title.columns - clock.count)) + clock, .faint)
        var bus = ScreenLine(label: "Bus")
        bus.add("--bus \(state.bus)")
        return [title, bus]
    }

    private var route: [ScreenLine] {
        var route = ScreenLine(label: "Route")
        route.add(state.route, state.route == "none" ? .plain : .good)
        if !state.link.isEmpty { route.add("  \(state.link)") }
        if state.isMuted { route.add("  muted", .warning) }
        var why = ScreenLine(label: "Why")
        why.add(state.why)
        let calls = state.calls.isEmpty ? ["none"] : state.calls
        return [route, why] + talk
            + calls.enumerated().map { index, text in
                var line = ScreenLine(label: index == 0 ? "Calls" : "")
                line.add(text, state.calls.isEmpty ? .faint : .plain)
                return line
            }
    }

    private var talk: [ScreenLine] {
        guard let mode = state.talkMode else { return [] }
        var line = ScreenLine(label: "Talk")
        line.add("\(mode)  ")
        line.add("t headset 1  y headset 2 (link)  u serial  w Low Energy", .faint)
        return [line]
    }

    private func devices(_ size: TerminalScreen.Size) -> [ScreenLine] {
        let keys = ["1 on/off  k dies  b button", "2 on/off  l dies  n button"]
        var lines = state.devices.enumerated().map { index, device in
            var line = ScreenLine()
            line.add(TerminalText.fitted(device.name, Self.nameColumns), .strong)
            let word = device.power == .fixed ? "" : device.power.rawValue
            line.add(TerminalText.fitted(word, 6), device.power == .dead ? .bad : .plain)
            Self.addLevel(device.heard, to: &line)
            if keys.indices.contains(index) { line.add("  \(keys[index])", .faint) }
            return line
        }
        var far = ScreenLine()
        far.add(TerminalText.fitted("far end", Self.nameColumns + 6), .strong)
        Self.addLevel(state.farEndHeard, to: &far)
        lines.append(far)
        return lines
    }

    private var footer: ScreenLine {
        var line = ScreenLine()
        line.add("q quit  " + Self.keys.map { "\($0.rawValue) \($0.meaning)" }.joined(separator: "  "), .faint)
        return line
    }

    // MARK: Levels

    /// A lower peak (-50 dB of full scale) counts as silence.
    static let silence = 100

    static func word(_ peak: Int) -> String { peak > silence ? "speech" : "silence" }

    /// Ten cells over 40 dB, and the word.
    private static func addLevel(_ peak: Int, to line: inout ScreenLine) {
        let decibels = peak > 0 ? 20 * log10(Double(peak) / 32768) : -100
        let cells = max(peak > silence ? 1 : 0, min(10, Int((decibels + 40) / 4)))
        line.add("[", .faint)
        line.add(String(repeating: "#", count: cells), .good)
        line.add(String(repeating: " ", count: 10 - cells))
        line.add("] ", .faint)
        line.add(TerminalText.fitted(word(peak), 7), peak > silence ? .good : .faint)
    }
}
