import ArgumentParser
import BTCallAPI
import BluetoothTypes
import Configuration
import Foundation
import Testing

@testable import BTCallCommand
@testable import BTCallLab

/// The pages of `docs/reference` that are made from the sources.
///
/// `BTCALL_UPDATE_PAGES=1 swift test --filter ReferencePageTests` writes them.
@Suite struct ReferencePageTests {
    @Test func `Keys.md has every key of the configuration`() throws {
        try Self.compare("docs/reference/Keys.md", Self.keys)
    }

    @Test func `Verbs.md has every verb with its arguments and options`() throws {
        try Self.compare("docs/reference/Verbs.md", try Self.verbs())
    }

    private static func compare(_ path: String, _ lines: [String]) throws {
        if ProcessInfo.processInfo.environment["BTCALL_UPDATE_PAGES"] != nil {
            let text = lines.joined(separator: "\n") + "\n"
            try text.write(to: RepositoryTests.root.appending(path: path), atomically: true, encoding: .utf8)
        }
        let page = try RepositoryTests.contents(path).split(separator: "\n", omittingEmptySubsequences: false)
        for (line, expected) in zip(page, lines) { #expect(line == expected, "\(path)") }
        #expect(page.count == lines.count + 1, "\(path): write it again with BTCALL_UPDATE_PAGES=1")
    }

    /// A row of a table.
    private static func row(_ cells: String...) -> String {
        let texts = cells.map { $0.isEmpty ? " |" : " \($0.replacing("|", with: "\\|")) |" }
        return "|" + texts.joined()
    }

    private static func code(_ text: String) -> String { "`\(text)`" }

    // MARK: Keys

    /// Keys whose default or values depend on how btcalld was built: those of a full build.
    private static let fullBuild = [
        "codecs": (standard: "msbc, cvsd", accepted: "a list of lc3-swb (in a build with LC3), msbc, cvsd"),
        "voiceProcessing": (standard: "webrtc", accepted: "webrtc, speex or none"),
    ]

    private static var keys: [String] {
        var lines = [
            "# Keys of the configuration", "",
            "Every key of `/etc/btcall/btcalld.conf` with its default and its values. Made from the sources by a test.",
            "",
            "| Change | When a change at run time (`btcall config`) takes effect |",
            "|---|---|",
            "| now | at once, also in a call |",
            "| reopen | when the link or connection of a headset, or a sound card, is opened the next time |",
            "| nextCall | with the next call |",
            "| restart | when btcalld starts; only the file sets the key |",
        ]
        let headset = ConfigurationSection.headset(BluetoothAddress(value: 0xAABB_CCDD_EEFF))
        for section in ConfigurationSection.all + [headset] {
            lines += ["", "## [\(section.name)]", ""]
            lines += ["| Key | Default | Values | Change | Meaning |", "|---|---|---|---|---|"]
            for key in section.keys {
                let build = fullBuild[key.name]
                let standard = build?.standard ?? key.standard
                lines.append(
                    row(
                        code(key.name), standard.isEmpty ? "" : code(standard), build?.accepted ?? key.accepted,
                        key.effect.rawValue, key.summary))
            }
        }
        return lines
    }

    // MARK: Verbs

    /// What `--experimental-dump-help` prints of a program.
    private struct Tool: Decodable {
        let command: Verb
    }

    private struct Verb: Decodable {
        let commandName: String
        let abstract: String?
        let shouldDisplay: Bool?
        let arguments: [Argument]?
        let subcommands: [Verb]?

        var isShown: Bool { shouldDisplay ?? true }
    }

    private struct Argument: Decodable {
        struct Name: Decodable {
            let kind: String
            let name: String
        }

        let kind: String
        let names: [Name]?
        let valueName: String?
        let abstract: String?
        let defaultValue: String?
        let shouldDisplay: Bool
        let isRepeating: Bool
        let parsingStrategy: String?

        var isCommon: Bool {
            (names ?? []).contains { ["bus", "json", "color", "version", "help"].contains($0.name) }
        }

        /// `--window SECONDS`, `FILE…`, `-- COMMAND…`.
        var term: String {
            let name = valueName ?? "value"
            // A pattern, such as tone:HZ, stays as it is.
            let isPattern = name.contains(".") || name.contains(":")
            let value = (isPattern ? name : name.uppercased()) + (isRepeating ? "…" : "")
            let names = (self.names ?? []).map { ($0.kind == "long" ? "--" : "-") + $0.name }.joined(separator: ", ")
            switch kind {
            case "positional": return parsingStrategy == "postTerminator" ? "-- \(value)" : value
            case "option": return "\(names) \(value)"
            default: return names
            }
        }
    }

    private static func verbs() throws -> [String] {
        var lines = [
            "# Verbs", "",
            "Every verb of `btcall` and `btcall-lab` with its arguments and options. Made from the sources by a test.",
            "",
            "All verbs of `btcall` take `--bus BUS`, `--json` and `--color WHEN`, before the verb or after it.",
            "`btcall help VERB` and `man btcall-VERB` have examples.",
            "[Operate](../operate/Operate.md) explains DEVICE and HEADSET.",
        ]
        for program in [Entry.self, LabEntry.self] as [any ParsableCommand.Type] {
            let tool = try JSONDecoder().decode(Tool.self, from: Data(program._dumpHelp().utf8))
            for group in program.configuration.groupedSubcommands {
                let names = group.subcommands.compactMap { $0.configuration.commandName }
                let shown = (tool.command.subcommands ?? []).filter { $0.isShown && names.contains($0.commandName) }
                guard !shown.isEmpty else { continue }
                lines += ["", "## \(tool.command.commandName): \(group.name)", ""]
                lines += ["| Verb | Argument or option | Does |", "|---|---|---|"]
                for verb in shown { lines += rows(of: verb, as: verb.commandName) }
            }
        }
        return lines
    }

    private static func rows(of verb: Verb, as words: String) -> [String] {
        let children = (verb.subcommands ?? []).filter { $0.isShown && $0.commandName != "help" }
        var lines = [row(code(words), "", verb.abstract ?? "")]
        guard children.isEmpty else {
            return lines + children.flatMap { rows(of: $0, as: "\(words) \($0.commandName)") }
        }
        for argument in verb.arguments ?? [] where argument.shouldDisplay && !argument.isCommon {
            // A default in the words of Swift is none of the user's.
            let isPlain = argument.defaultValue?.contains("(") == false
            let preset = isPlain ? argument.defaultValue.map { " Default: \($0)." } ?? "" : ""
            lines.append(row("", code(argument.term), (argument.abstract ?? "") + preset))
        }
        return lines
    }
}
