import BTCallBench
import CommandKit
import ControlLoop
import Testing

@testable import BTCallLab

struct SandboxViewTests {
    private static func view(_ text: String = "Alice") -> SandboxView {
        var state = SandboxState(bus: "unix:path=/tmp/bus")
        state.devices = [
            .init(name: "headset 1", power: .on, heard: 9000), .init(name: "headset 2", power: .dead),
            .init(name: "earpiece", power: .fixed), .init(name: "loudspeaker", power: .fixed),
        ]
        state.route = "headset 1"
        state.link = "HFP mSBC"
        state.why = "2 preferred: bluetooth (deviceConnected)"
        state.calls = ["incoming, active: \(text), by sandbox"]
        state.farEndHeard = 400
        return SandboxView(
            state: state, story: ["12:00:01  the call is on: headset 1", text],
            now: WallClock(milliseconds: 1_700_000_000_000))
    }

    @Test func `A call on a headset, on 80 columns and 18 rows`() {
        let lines = Self.view().lines(.init(columns: 80, rows: 18)).map { $0.text(width: 80) }
        let expected = """
            Bus       --bus unix:path=/tmp/bus

            Route     headset 1  HFP mSBC
            Why       2 preferred: bluetooth (deviceConnected)
            Calls     incoming, active: Alice, by sandbox

            headset 1     on    [#######   ] speech   1 on/off  k dies  b button
            headset 2     dead  [          ] silence  2 on/off  l dies  n button
            earpiece            [          ] silence
            loudspeaker         [          ] silence
            far end             [#         ] speech

            12:00:01  the call is on: headset 1
            Alice


            q quit  o call out  i call in  a answer  e end calls  f far end hangs up  m mute
            """
        #expect(lines.dropFirst().joined(separator: "\n") == expected)
    }

    @Test func `A sandbox with talk keys names them`() {
        var view = Self.view()
        view.state.talkMode = "push"
        let lines = view.lines(.init(columns: 80, rows: 18)).map { $0.text(width: 80) }
        let talk = "Talk      push  t headset 1  y headset 2 (link)  u serial  w Low Energy"
        #expect(lines.contains(talk))
    }

    @Test func `With any size and texts, nothing exceeds or controls the terminal`() {
        let evil = "\u{1B}]0;x\u{7}\u{1B}[2J\u{9B}31m\r\n日本語" + String(repeating: "w", count: 300)
        for columns in [1, 2, 20, 80, 132] {
            for rows in [0, 1, 2, 3, 10, 24, 60] {
                let lines = Self.view(evil).lines(.init(columns: columns, rows: rows))
                #expect(lines.count == rows)
                for line in lines {
                    let text = line.text(width: columns)
                    #expect(TerminalText.columns(text) <= columns, "\(text)")
                    #expect(PrintableText.line(text) == text)
                }
            }
        }
    }
}
