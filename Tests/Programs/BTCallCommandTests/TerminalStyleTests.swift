import ArgumentParser
import CommandKit
import CommandTestSupport
import Foundation
import Testing

@testable import BTCallCommand

@Suite struct TerminalStyleTests {
    @Test func `Emphasis surrounds a text only where it is enabled`() {
        let style = TerminalStyle(isEnabled: true)
        #expect(style.bold("a").text == "\u{1B}[1ma\u{1B}[22m" && style.dim("a").text == "\u{1B}[2ma\u{1B}[22m")
        #expect(style.red("a").text == "\u{1B}[31ma\u{1B}[39m" && style.green("a").text == "\u{1B}[32ma\u{1B}[39m")
        #expect(style.yellow("a").text == "\u{1B}[33ma\u{1B}[39m" && style.yellow("") == "")
        let plain = TerminalStyle.plain
        for text in [plain.bold("a"), plain.dim("a"), plain.red("a"), plain.green("a"), plain.yellow("a")] {
            #expect(text == "a")
        }
    }

    @Test func `Emphasis is the only sequence in a line, whatever its parts contain`() {
        let style = TerminalStyle(isEnabled: true)
        let name = "a\u{1B}[31mb"
        let line: StyledText = "\(style.bold(name)): \(name)"
        #expect(line.text == "\u{1B}[1ma\\u{1B}[31mb\u{1B}[22m: a\\u{1B}[31mb")
    }

    private static let choices: [(TerminalStyle.ColorChoice, Bool, [String: String], Bool)] = [
        (.auto, true, [:], true), (.auto, false, [:], false), (.auto, true, ["NO_COLOR": "1"], false),
        (.auto, true, ["NO_COLOR": ""], true), (.auto, true, ["TERM": "dumb"], false),
        (.auto, true, ["TERM": "xterm"], true), (.always, false, ["NO_COLOR": "1", "TERM": "dumb"], true),
        (.never, true, [:], false),
    ]

    @Test(arguments: choices)
    func `Colours depend on the request, the terminal and the environment`(
        choice: TerminalStyle.ColorChoice, isTerminal: Bool, variables: [String: String], isEnabled: Bool
    ) {
        let style = TerminalStyle(choice, isTerminal: isTerminal) { variables[$0] }
        #expect(style.isEnabled == isEnabled)
    }

    @Test func `A table with colours is otherwise the one without`() {
        var table = Table("A", "LONG", "C")
        table.add("wide cell", "", "end")
        table.emphasize(.good, inColumn: "A")
        table.add("x", "y", "")
        table.emphasize(.bad, inColumn: "LONG")
        #expect(table.lines == ["A          LONG  C", "wide cell        end", "x          y"])
        let style = TerminalStyle(isEnabled: true)
        let bold = ["A", "LONG", "C"].map(style.bold)
        #expect(
            table.lines(in: style) == [
                "\(bold[0])          \(bold[1])  \(bold[2])", "\(style.green("wide cell"))        end",
                "x          \(style.red("y"))",
            ])
    }

    @Test func `Facts have bold labels`() {
        var facts = Facts()
        facts.add("Route", "none")
        facts.add("Microphone", "muted", .warning)
        #expect(facts.lines == ["Route       none", "Microphone  muted"])
        let style = TerminalStyle(isEnabled: true)
        #expect(
            facts.lines(in: style) == [
                "\(style.bold("Route"))       none", "\(style.bold("Microphone"))  \(style.yellow("muted"))",
            ])
    }

    @Test func `--color always colours output into a pipe, and nothing else does`() throws {
        let program = try #require(CommandLineTests.program)
        let missing = ["status", "--bus", "unix:path=/nonexistent/bus"]
        func errors(_ arguments: [String]) throws -> String {
            try ChildProcess(program.path(), arguments, capturing: .errors).finish().text
        }
        #expect(try errors(missing).hasPrefix("btcall: cannot reach"))
        #expect(try errors(missing + ["--color", "always"]).hasPrefix("\u{1B}[31mbtcall:\u{1B}[39m cannot reach"))
        #expect(try errors(missing + ["--color", "sometimes"]).contains("'sometimes'"))
    }
}
