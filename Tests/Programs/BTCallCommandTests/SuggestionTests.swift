import ArgumentParser
import BTCall
import CommandKit
import Spelling
import Testing

@testable import BTCallCommand

@Suite struct SuggestionTests {
    /// The message for this command line; nil when it is accepted.
    private func refusal(_ arguments: [String]) -> String? {
        do {
            _ = try Entry.command(for: arguments)
            return nil
        } catch {
            return Entry.message(for: Program.explained(error, of: arguments, Entry.self, OldVerbs.names))
        }
    }

    @Test(arguments: [
        (["prefr", "bluetooth"], "unknown verb 'prefr': did you mean 'prefer'?"),
        (["devcies"], "unknown verb 'devcies': did you mean 'devices'?"),
        (["hangupp"], "unknown verb 'hangupp': did you mean 'hangup'?"),
        (["headset", "forgt", "Jabra"], "unknown verb 'forgt': did you mean 'forget'?"),
        (["selcet"], "unknown verb 'selcet': did you mean 'move'?"),
        (["voise"], "unknown verb 'voise': did you mean 'processing'?"),
        (["session", "activte"], "unknown verb 'activte': did you mean 'activate'?"),
        (["xylophone"], "unknown verb 'xylophone'"),
    ])
    func `An unknown verb is answered with the closest verb`(arguments: [String], message: String) {
        #expect(refusal(arguments) == message)
    }

    @Test func `Other errors are not blamed on the verb`() throws {
        for arguments in [["dial"], ["call", "1", "2"], ["mute", "perhaps"], ["session", "xylophone"]] {
            let text = try #require(refusal(arguments))
            #expect(!text.contains("unknown verb"), "\(arguments): \(text)")
        }
        #expect(refusal(["call", "report", "incoming", "1"]) == nil)
    }

    @Test(arguments: [
        (["watch", "--exec", "true", "--event", "routeChange"], "did you mean 'routeChanged'?"),
        (["status", "--jsn"], "Did you mean '--json'?"), (["completions", "bsh"], "did you mean 'bash'"),
    ])
    func `Events, options and shells are suggested`(arguments: [String], question: String) throws {
        let text = try #require(refusal(arguments))
        #expect(text.contains(question), "\(text)")
    }

    @Test func `Two swapped bytes are one mistake, and a short word has few neighbours`() {
        let verbs = ["hold", "dnd", "log", "mic", "mute", "why"]
        #expect(Suggestion.question(for: "hlod", among: verbs) == "did you mean 'hold'?")
        #expect(Suggestion.question(for: "dn", among: verbs) == "did you mean 'dnd'?")
        #expect(Suggestion.question(for: "x", among: verbs) == nil)
        #expect(Suggestion.question(for: "", among: verbs) == nil)
    }
}
