package import ArgumentParser
import JSONText

/// The manual pages of a program, generated from its parser: PROGRAM(1), and PROGRAM-VERB(1) for each verb.
package struct CommandManual {
    /// Content of the first page that the parser does not have.
    package struct Overview {
        /// The first paragraph of the description.
        let introduction: String
        /// Names and meanings.
        let variables: [(name: String, meaning: String)]
        let seeAlso: [String]
        /// Codes and meanings.
        let exitCodes: [(code: String, meaning: String)]
        let oldNames: [CommandWords.OldName]

        package init(
            _ introduction: String, variables: [(name: String, meaning: String)], seeAlso: [String],
            exitCodes: [(code: String, meaning: String)] = [], oldNames: [CommandWords.OldName] = []
        ) {
            self.introduction = introduction
            self.variables = variables
            self.seeAlso = seeAlso
            self.exitCodes = exitCodes
            self.oldNames = oldNames
        }
    }

    /// A verb in the parser's own description (`--experimental-dump-help`).
    private struct Description {
        struct Argument {
            let kind: String
            let names: [(kind: String, name: String)]
            let valueName: String?
            let abstract: String?
            let defaultValue: String?
            let shouldDisplay: Bool

            init(_ json: JSON) {
                kind = json["kind"]?.stringValue ?? ""
                names = json["names"].elements.map { ($0["kind"]?.stringValue ?? "", $0["name"]?.stringValue ?? "") }
                valueName = json["valueName"]?.stringValue
                abstract = json["abstract"]?.stringValue
                defaultValue = json["defaultValue"]?.stringValue
                shouldDisplay = json["shouldDisplay"]?.boolValue ?? true
            }
        }

        let commandName: String
        let arguments: [Argument]
        let subcommands: [Description]

        init(_ json: JSON) {
            commandName = json["commandName"]?.stringValue ?? ""
            arguments = json["arguments"].elements.map(Argument.init)
            subcommands = json["subcommands"].elements.map(Description.init)
        }
    }

    private let command: any ParsableCommand.Type
    private let program: String
    private let about: Overview
    private let root: Description

    /// - Parameter command: the program's first command; its name is the program's.
    /// - Throws: `JSONError` when the parser's description has an unexpected form.
    package init(_ command: any ParsableCommand.Type, _ about: Overview) throws {
        self.command = command
        self.about = about
        program = command.configuration.commandName ?? ""
        root = Description(try JSON(reading: Array(command._dumpHelp().utf8))["command"] ?? .null)
    }

    /// The pages, PROGRAM(1) first.
    package var pages: [ManualPage] { [overview] + verbs.map(page) }

    private var groups: [CommandGroup] { command.configuration.groupedSubcommands }
    private var verbs: [any ParsableCommand.Type] {
        groups.flatMap(\.subcommands).filter { $0.configuration.shouldDisplay }
    }

    private var overview: ManualPage {
        let configuration = command.configuration
        var page = ManualPage(program, section: 1, summary: configuration.abstract)
        let help = HelpText(configuration.discussion)
        page.heading("SYNOPSIS")
        page.code(["\(program) VERB [ARGUMENT...] [OPTION...]", "\(program) --help", "\(program) help VERB"])
        page.heading("DESCRIPTION")
        page.prose(about.introduction + "\n\n" + help.prose)
        for group in groups {
            page.heading("\(group.name.uppercased()) VERBS")
            for verb in group.subcommands where verb.configuration.shouldDisplay {
                let name = verb.configuration.commandName ?? ""
                page.item("\\fB\(ManualPage.code("\(program)-\(name)"))\\fR(1)", verb.configuration.abstract)
            }
        }
        page.heading("EXAMPLES")
        page.code(help.examples)
        page.heading("ENVIRONMENT")
        for variable in about.variables { page.item("\\fB\(variable.name)\\fR", variable.meaning) }
        if !about.exitCodes.isEmpty { page.heading("EXIT STATUS") }
        for code in about.exitCodes { page.item("\\fB\(ManualPage.code(code.code))\\fR", code.meaning) }
        if !about.oldNames.isEmpty {
            page.heading("OLD NAMES")
            page.prose("Verbs with other names in earlier versions. The old names still work.")
            for name in about.oldNames {
                let (old, new) = (name.old.joined(separator: " "), name.new.joined(separator: " "))
                page.item("\\fB\(ManualPage.code("\(program) \(old)"))\\fR", "`\(program) \(new)`")
            }
        }
        page.seeAlso(about.seeAlso)
        return page
    }

    private func page(_ verb: any ParsableCommand.Type) -> ManualPage {
        let configuration = verb.configuration
        let name = configuration.commandName ?? ""
        var page = ManualPage("\(program)-\(name)", section: 1, summary: configuration.abstract)
        let description = root.subcommands.first { $0.commandName == name }
        page.heading("SYNOPSIS")
        let children = configuration.subcommands.filter { $0.configuration.shouldDisplay }
        page.code((children.isEmpty ? [verb] : children).flatMap(usage))
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
            page.heading("\(program) \(name) \(word)")
            let usual = child == configuration.defaultSubcommand ? " This is the default." : ""
            page.prose(child.configuration.abstract + usual + (help.prose.isEmpty ? "" : "\n\n" + help.prose))
            Self.arguments(of: description?.subcommands.first { $0.commandName == word }, on: &page, isPart: true)
            examples += help.examples.filter { !examples.contains($0) }
        }
        page.heading("EXAMPLES")
        page.code(examples)
        page.seeAlso(["\(program)(1)", "btcalld(8)", "btcalld.conf(5)"])
        return page
    }

    /// The usage lines of a verb.
    private func usage(of verb: any ParsableCommand.Type) -> [String] {
        command.usageString(for: verb).split(separator: "\n").map { line in
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
        let names = argument.names.map { name in
            "\\fB\(ManualPage.code((name.kind == "long" ? "--" : "-") + name.name))\\fR"
        }
        return names.joined(separator: ", ") + (argument.kind == "option" ? " " + value : "")
    }
}

extension JSON? {
    /// The elements of a list; empty for any other value.
    fileprivate var elements: [JSON] {
        if case .array(let elements)? = self { elements } else { [] }
    }
}
