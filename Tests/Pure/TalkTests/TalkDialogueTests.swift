import Talk
import Testing

@Suite struct TalkDialogueTests {
    @Test func `the files of dialogues are valid, and no name is used twice`() {
        #expect(TalkDialogue.loaded.mistakes == [])
        let names = TalkDialogue.loaded.dialogues.map(\.name)
        #expect(names.count >= 30)
        #expect(Dictionary(grouping: names) { $0 }.filter { $0.value.count > 1 }.keys.sorted() == [])
        #expect(TalkDialogue.loaded.dialogues.allSatisfy { !$0.steps.isEmpty })
    }

    @Test(arguments: TalkDialogue.loaded.dialogues)
    func `the keys and the floor keep the dialogue`(_ dialogue: TalkDialogue) throws {
        try play(dialogue, isSplit: false)
    }

    @Test(arguments: TalkDialogue.loaded.dialogues)
    func `the dialogue is the same when bytes come one by one`(_ dialogue: TalkDialogue) throws {
        try play(dialogue, isSplit: true)
    }

    private func play(_ dialogue: TalkDialogue, isSplit: Bool) throws {
        var player = try TalkPlayer(dialogue, isSplit: isSplit)
        for step in dialogue.steps {
            let outputs = try player.play(step)
            #expect(
                outputs == step.outputs, "\(dialogue.name), line \(step.line): \(step.input.joined(separator: " "))")
        }
    }
}
