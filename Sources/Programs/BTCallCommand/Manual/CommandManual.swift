import ArgumentParser
import Foundation

/// The pages of the command line, from what the parser knows: btcall(1), and btcall-VERB(1) for each verb.
struct CommandManual {
    /// A verb as the parser describes it (`--experimental-dump-help`).
    private struct Description: Decodable {
        struct Argument: Decodable {
            struct Name: Decodable {
                var kind: String
                var name: String
            }

            var kind: String
            var names: [Name]?
            var valueName: String?
            var abstract: String?
            var defaultValue: String?
            var shouldDisplay: Bool
        }

        var commandName: String
        var arguments: [Argument]?
        var subcommands: [Description]?
    }

    private struct Document: Decodable {
        var command: Description
    }

    private let root: Description

    /// - Throws: `DecodingError` when the parser describes itself in another way than this is written for.
    init() throws {
        root = try JSONDecoder().decode(Document.self, from: Data(Entry._dumpHelp().utf8)).command
    }

    /// btcall(1) first.
    var pages: [ManualPage] { [overview] + Self.verbs.map(page) }

    private static var groups: [CommandGroup] { Entry.configuration.groupedSubcommands }
    private static var verbs: [any ParsableCommand.Type] {
        groups.flatMap(\.subcommands).filter { $0.configuration.shouldDisplay }
    }

    private var overview: ManualPage {
        let configuration = Entry.configuration
        var page = ManualPage("btcall", section: 1, summary: configuration.abstract)
        let help = HelpText(configuration.discussion)
        page.heading("SYNOPSIS")
        page.code(["btcall VERB [ARGUMENT...] [OPTION...]", "btcall --help", "btcall help VERB"])
        page.heading("DESCRIPTION")
        page.prose(
            """
            btcall talks to `btcalld`, which moves the audio of telephone calls between Bluetooth headsets and the board's own \
            devices. Root and the members of group btcall may do everything; everybody else may look. On a terminal tables \
            have colours; in a pipe there are none, and `--json` is for programs.
            """ + "\n\n" + help.prose.trimmingCharacters(in: .newlines))
        for group in Self.groups {
            page.heading("\(group.name.uppercased()) VERBS")
            for verb in group.subcommands where verb.configuration.shouldDisplay {
                let name = verb.configuration.commandName ?? ""
                page.item("\\fB\(ManualPage.code("btcall-\(name)"))\\fR(1)", verb.configuration.abstract)
            }
        }
        page.heading("EXAMPLES")
        page.code(help.examples)
        page.heading("ENVIRONMENT")
        page.item("\\fBBTCALL_BUS\\fR", "The bus that btcalld is on, where `--bus` does not say it.")
        page.item("\\fBNO_COLOR\\fR", "Set to anything: no colours.")
        page.seeAlso(["btcalld(8)", "btcalld.conf(5)", "btcall-sco-routing(8)"])
        return page
    }

    private func page(_ verb: any ParsableCommand.Type) -> ManualPage {
        let configuration = verb.configuration
        let name = configuration.commandName ?? ""
        var page = ManualPage("btcall-\(name)", section: 1, summary: configuration.abstract)
        let description = root.subcommands?.first { $0.commandName == name }
        page.heading("SYNOPSIS")
        let children = configuration.subcommands.filter { $0.configuration.shouldDisplay }
        page.code((children.isEmpty ? [verb] : children).flatMap(Self.usage))
        page.heading("DESCRIPTION")
        let help = HelpText(configuration.discussion)
        page.prose(configuration.abstract + (help.prose.isEmpty ? "" : "\n\n" + help.prose))
        if children.isEmpty {
            Self.arguments(of: description, on: &page)
        }
        var examples = help.examples
        for child in children {
            let word = child.configuration.commandName ?? ""
            let help = HelpText(child.configuration.discussion)
            page.heading("btcall \(name) \(word)")
            let usual = child == configuration.defaultSubcommand ? " This is what is done without a further verb." : ""
            page.prose(child.configuration.abstract + usual + (help.prose.isEmpty ? "" : "\n\n" + help.prose))
            Self.arguments(of: description?.subcommands?.first { $0.commandName == word }, on: &page, isPart: true)
            examples += help.examples.filter { !examples.contains($0) }
        }
        page.heading("EXAMPLES")
        page.code(examples)
        page.seeAlso(["btcall(1)", "btcalld(8)", "btcalld.conf(5)"])
        return page
    }

    /// The command lines that a verb takes.
    private static func usage(of verb: any ParsableCommand.Type) -> [String] {
        Entry.usageString(for: verb).split(separator: "\n").map { line in
            let words = line.drop { $0 == " " }
            let label = "usage: "
            return String(words.lowercased().hasPrefix(label) ? words.dropFirst(label.count) : words)
        }
    }

    private static func arguments(of verb: Description?, on page: inout ManualPage, isPart: Bool = false) {
        let arguments = (verb?.arguments ?? []).filter(\.shouldDisplay)
        guard !arguments.isEmpty else { return }
        if !isPart { page.heading("OPTIONS") }
        for argument in arguments {
            let preset = argument.defaultValue.map { " Default: \($0)." } ?? ""
            page.item(term(argument), (argument.abstract ?? "") + preset)
        }
    }

    /// `--bus BUS`, `-h, --help`, or the name of a positional argument.
    private static func term(_ argument: Description.Argument) -> String {
        let value = ManualPage.argument(argument.valueName ?? "value")
        guard argument.kind != "positional" else { return value }
        let names = (argument.names ?? []).map { name in
            "\\fB\(ManualPage.code((name.kind == "long" ? "--" : "-") + name.name))\\fR"
        }
        return names.joined(separator: ", ") + (argument.kind == "option" ? " " + value : "")
    }
}
