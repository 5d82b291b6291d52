import CommandTestSupport
import Foundation

/// The command lines of btcall on a page, as a person would type them.
struct PageCommands {
    /// The words after `btcall`, with values instead of placeholders.
    let commands: [[String]]

    /// Format of a file.
    enum Kind {
        case page, script, configuration, manual
    }

    init(_ text: String, _ kind: Kind) {
        let code: [String]
        switch kind {
        case .page:
            // Text between two fences is code.
            code = text.components(separatedBy: "```").enumerated().flatMap { index, block in
                index % 2 == 1 ? Self.lines(block) : Self.spans(block)
            }
        case .script: code = Self.lines(text)
        case .configuration: code = Self.lines(text).flatMap(Self.spans)
        case .manual:
            code = text.matches(of: /\\fB(?<code>btcall [^\n]*?)\\fR/).map {
                String($0.output.code).replacing("\\-", with: "-")
            }
        }
        commands = code.flatMap(Self.commands)
    }

    private static func lines(_ text: String) -> [String] { text.split(separator: "\n").map(String.init) }

    private static func spans(_ text: String) -> [String] {
        let parts = text.replacing("\n", with: " ").split(separator: "`", omittingEmptySubsequences: false)
        return parts.enumerated().filter { $0.offset % 2 == 1 }.map { String($0.element) }
    }

    /// Commands at places where a shell expects one.
    private static func commands(in line: String) -> [[String]] {
        // In a table a line between two words is escaped.
        let code = line.replacing("\\|", with: "\u{1}")
        return code.matches(of: /(?:^ *|[|;&(] *|if |while |exec )(?:\$ )?(?:sudo )?btcall (?<rest>[^|;)]*)/).flatMap {
            variants(of: CommandExamples.split(String($0.output.rest)))
        }
    }

    /// One command for each word of `on|off`, with values for words in capitals.
    private static func variants(of words: [String]) -> [[String]] {
        var lines: [[String]] = [[]]
        for word in words {
            let bare = word.filter { !"[]".contains($0) }
            if bare == "…" || bare == "..." { break }
            let choices = bare.split { $0 == "\u{1}" || ($0 == "|" && bare.count > 1) }.map { value(String($0)) }
            guard !choices.isEmpty else { continue }
            lines = lines.flatMap { line in choices.map { line + [$0] } }
        }
        return lines
    }

    private static func value(_ word: String) -> String {
        // For `0…15` its beginning, for `COMMAND…` one word.
        let first = word.split(separator: "…").first.map(String.init) ?? word
        return values[first] ?? first
    }

    private static let values = [
        "DEVICE": "earpiece", "HEADSET": "Jabra", "ADDRESS": "00:00:5E:00:53:01", "FILE": "file",
        "FILE.wav": "file.wav",
        "VALUE": "10", "KEY": "volumeCeiling", "NUMBER": "110", "TONES": "1", "CALL": "1", "TIME": "-90",
        "COMMAND": "true", "CMD": "true", "STATE": "active", "SOURCE": "page", "MODE": "restart", "SECONDS": "5",
        "N": "5", "VERB": "status", "BUS": "session",
    ]
}
