import BluetoothTypes
import HandsFree
import Testing

@Suite struct DialogueTests {
    static let all = setUpDialogues + callDialogues + indicatorDialogues + audioDialogues + otherDialogues

    @Test(arguments: all)
    func `the gateway keeps to the dialogue`(_ dialogue: Dialogue) {
        var player = DialoguePlayer(dialogue.configuration)
        #expect(player.play(dialogue).joined(separator: "\n") == expected(dialogue))
    }

    @Test(arguments: all)
    func `the dialogue is the same however its bytes are cut`(_ dialogue: Dialogue) {
        let longest = dialogue.lines.map(\.utf8.count).max() ?? 0
        for position in 1..<max(longest, 2) {
            var player = DialoguePlayer(dialogue.configuration) { bytes in
                [Array(bytes.prefix(position)), Array(bytes.dropFirst(position))]
            }
            #expect(player.play(dialogue).joined(separator: "\n") == expected(dialogue))
        }
        var player = DialoguePlayer(dialogue.configuration) { bytes in bytes.map { [$0] } }
        #expect(player.play(dialogue).joined(separator: "\n") == expected(dialogue))
    }

    private func expected(_ dialogue: Dialogue) -> String {
        dialogue.lines.filter { !$0.hasPrefix("slc") }.joined(separator: "\n")
    }
}
