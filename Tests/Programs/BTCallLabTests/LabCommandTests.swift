import ArgumentParser
import CommandKit
import CommandTestSupport
import Foundation
import Testing

@testable import BTCallLab

@Suite(.timeLimit(.minutes(1))) struct LabCommandTests {
    /// The program built with these tests.
    static var program: URL? { BuiltProgram.named("btcall-lab", "BTCallLab") }

    @Test func `Every verb is in a group, and its help has examples that it accepts`() throws {
        #expect(LabEntry.configuration.ungroupedSubcommands.isEmpty)
        let verbs = CommandExamples.verbs(of: LabEntry.self)
        #expect(verbs.count == 12)
        for (words, type) in verbs {
            let examples = HelpText(type.configuration.discussion).examples
            #expect(!examples.isEmpty, "\(words) has no example")
            for example in examples {
                let typed = CommandExamples.split(example)
                #expect(typed.first == "btcall-lab", "\(example)")
                let command = try LabEntry.parseAsRoot(Array(typed.dropFirst()))
                let isVerb = Swift.type(of: command) == type || !type.configuration.subcommands.isEmpty
                #expect(isVerb, "\(words): \(command)")
            }
        }
        for example in HelpText(LabEntry.configuration.discussion).examples {
            _ = try LabEntry.parseAsRoot(Array(CommandExamples.split(example).dropFirst()))
        }
    }

    @Test func `An unknown verb is answered with the closest verb`() throws {
        let arguments = ["bench", "oudio"]
        let error = try #require(throws: (any Error).self) { try LabEntry.parseAsRoot(arguments) }
        let text = LabEntry.message(for: Program.explained(error, of: arguments, LabEntry.self))
        #expect(text == "unknown verb 'oudio': did you mean 'audio'?")
    }

    @Test func `There is a page of the manual for btcall-lab and for each of its verbs`() throws {
        let pages = try LabManualCommand.pages()
        let verbs = ["demo", "sandbox", "replay", "gateway", "decode", "bench", "latency", "completions"]
        #expect(pages.map(\.fileName) == ["btcall-lab.1"] + verbs.map { "btcall-lab-\($0).1" })
        let text = pages[1].roff(version: "1")
        #expect(text.contains("btcall\\-lab demo [\\-\\-out <out>] [\\-\\-fast]"), "\(text)")
    }

    @Test func `bash completes the name of the program, including the hyphen`() {
        let script = CompletionScript.text(for: .bash, of: LabEntry.self)
        #expect(script.hasSuffix("complete -o filenames -F _btcall-lab_with_colons btcall-lab\n"))
        #expect(script.contains("\n_btcall-lab() {"))
    }

    @Test func `The program's messages begin with its own name`() throws {
        let program = try #require(Self.program).path()
        let run = try ChildProcess(program, ["gateway", "--control", "/nowhere/at/all"], capturing: .errors).finish()
        #expect(run.status == 1)
        #expect(run.text.hasPrefix("btcall-lab: nobody listens at /nowhere/at/all: "))
    }
}
