import Configuration
import Testing

@Suite struct CommandWordsTests {
    @Test func `Commands are split into words, and invalid ones are refused`() {
        #expect(CommandWords("/bin/echo a  b")?.words == ["/bin/echo", "a", "b"])
        #expect(CommandWords("/bin/echo \"a  b\" \"\" $x;'|")?.words == ["/bin/echo", "a  b", "", "$x;'|"])
        #expect(CommandWords("\"/opt/my program\" x")?.words == ["/opt/my program", "x"])
        for bad in ["", " ", "echo", "./echo", "/bin/echo \"a"] { #expect(CommandWords(bad) == nil, "\(bad)") }
        #expect(ButtonAction("run /bin/true")?.text == "run /bin/true")
        #expect(ButtonAction("mute") == .mute && ButtonAction("mute")?.text == "mute")
        for bad in ["", "run", "run true", "dance", "Mute"] { #expect(ButtonAction(bad) == nil, "\(bad)") }
    }
}
