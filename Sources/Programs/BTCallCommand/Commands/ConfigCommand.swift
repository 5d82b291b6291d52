import ArgumentParser
import BTCall
import BTCallJSON
import CommandKit
import ControlLoop
import JSONText
import Spelling

struct ConfigCommand: BridgeCommand {
    static let configuration = CommandConfiguration(
        commandName: "config", abstract: "Show and change the configuration of the running btcalld.",
        discussion: """
            Without KEY it shows all keys, with SECTION those of a section, with KEY one of them; with VALUE it \
            sets the key. A value set here is kept over restarts and overrides the configuration file, until \
            --reset. Commas separate the elements of a list.

            Examples:
              btcall config ring                        # one section
              btcall config --changed                   # what differs from the defaults
              btcall config headsetOrder
              btcall config volumeCeiling 12
              btcall config volumeCeiling --reset
            """)

    @Argument(
        help: "A key, with or without its section: routing.exclude, exclude; or a section: routing, device.earpiece.",
        completion: SettingName.completion)
    var key: String?

    @Argument(help: "Its new value, as in the configuration file.", completion: SettingName.valueCompletion)
    var value: String?

    @Flag(help: "Reset the key to the configuration file's value, or to its default.")
    var reset = false

    @Flag(help: "Show only keys that differ from their defaults; with SECTION only those of that section.")
    var changed = false

    @OptionGroup var options: CommonOptions

    func validate() throws {
        if reset, key == nil || value != nil { throw ValidationError("--reset takes a KEY and no VALUE.") }
        if changed, reset || value != nil {
            throw ValidationError("--changed only shows: leave VALUE and --reset out.")
        }
    }

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        let settings = try await bridge.settings()
        let section = key.flatMap { SettingName.section($0, in: settings) }
        if changed, section == nil, let key { throw CommandFailure(SettingName.noSection(key, in: settings)) }
        guard let key, section == nil || value != nil || reset else {
            let shown = (section ?? settings).filter { !changed || $0.value != $0.defaultValue }
            if options.json {
                output.print(.array(shown.map(\.json)))
            } else if shown.isEmpty {
                output.print("Every key\(section == nil ? "" : " of this section") has its default.")
            } else {
                output.print(Self.table(shown))
            }
            return
        }
        let name = try SettingName.find(key, in: settings).key
        if let current = UnitSpelling.current(of: key), name.hasSuffix(current) {
            output.printError("\(key) is now called \(name)")
        }
        if let value {
            try await bridge.setSetting(name, to: value)
        } else if reset {
            try await bridge.resetSetting(name)
        }
        let isChange = value != nil || reset
        let now = try SettingName.find(name, in: isChange ? try await bridge.settings() : settings)
        if options.json {
            output.print(now.json)
        } else if isChange {
            output.print("\(now.key) = \(now.valueText) (\(now.origin.text)): \(now.effect.sentence)")
        } else {
            Self.lines(now).forEach(output.print)
        }
    }

    static func table(_ settings: [Setting]) -> Table {
        var table = Table("KEY", "VALUE", "DEFAULT", "ACTS", "ORIGIN")
        for setting in settings {
            table.add(
                setting.key, setting.valueText, setting.defaultValue.isEmpty ? "-" : setting.defaultValue,
                setting.effect.text, setting.origin.text)
            if setting.origin != .default { table.emphasize(.strong, inColumn: "VALUE") }
        }
        return table
    }

    static func lines(_ setting: Setting) -> [String] {
        var facts = Facts()
        facts.add("Value", setting.valueText)
        facts.add("Default", setting.defaultValue.isEmpty ? "-" : setting.defaultValue)
        facts.add("Accepted", setting.accepted)
        facts.add("Acts", setting.effect.text)
        facts.add("Origin", setting.origin.text)
        return ["\(setting.key): \(setting.summary)"] + facts.lines
    }
}

/// Finds a setting by the text that a person typed.
enum SettingName {
    /// The keys of the running btcalld.
    static let completion = CompletionKind.custom { words, _, _ in
        CompletionCandidate.lines(
            CompletionCandidate.fromDaemon(words) { bridge in
                try await bridge.settings().map { CompletionCandidate($0.key, $0.summary) }
            })
    }

    /// The values of the preceding key, if its values are words.
    static let valueCompletion = CompletionKind.custom { words, index, _ in
        guard words.indices.contains(index - 1) else { return [] }
        let key = words[index - 1]
        return CompletionCandidate.lines(
            CompletionCandidate.fromDaemon(words) { bridge in
                let setting = try find(key, in: try await bridge.settings())
                return AcceptedWords.words(in: setting.accepted).map { CompletionCandidate($0) }
            })
    }

    /// The settings of a section: `ring`, `device.earpiece`, or `[device earpiece]` as in the file; nil when the name is not
    /// a section, or is also a key.
    static func section(_ name: String, in settings: [Setting]) -> [Setting]? {
        guard !settings.contains(where: { $0.key == name || last($0.key) == name }) else { return nil }
        let bare = String(name.drop { $0 == "[" }.prefix { $0 != "]" }.map { $0 == " " ? "." : $0 })
        let found = settings.filter { section(of: $0.key) == bare }
        return found.isEmpty ? nil : found
    }

    /// `device.earpiece` for `device.earpiece.volume`, `buttons` for `buttons.play.double`.
    private static func section(of key: String) -> String {
        let words = key.split(separator: ".")
        let isNamed = words.count > 2 && ["device", "headset"].contains(words[0])
        return words.prefix(isNamed ? 2 : 1).joined(separator: ".")
    }

    /// Failure text for a name that is not a section.
    static func noSection(_ name: String, in settings: [Setting]) -> String {
        var sections: [String] = []
        for setting in settings {
            let section = section(of: setting.key)
            if !sections.contains(section) { sections.append(section) }
        }
        let near = Suggestion.words(near: name, among: sections.map { ($0, [$0]) })
        let remedy =
            near.isEmpty
            ? "sections are \(sections.joined(separator: ", "))" : "did you mean \(near.joined(separator: " or "))?"
        return "there is no section \(name); \(remedy)"
    }

    private static func last(_ key: String) -> String { key.split(separator: ".").last.map(String.init) ?? "" }

    /// - Throws: `CommandFailure` with the closest names.
    static func find(_ name: String, in settings: [Setting]) throws -> Setting {
        let known = UnitSpelling.current(of: name) ?? name
        if known != name, let setting = try? find(known, in: settings) { return setting }
        if let setting = settings.first(where: { $0.key == name }) { return setting }
        let short = settings.filter { last($0.key) == name }
        if short.count == 1 { return short[0] }
        guard short.isEmpty else {
            throw CommandFailure("\(name) is a key of several sections: \(short.map(\.key).joined(separator: ", "))")
        }
        let near = Suggestion.words(
            near: name, among: settings.map { ($0.key, [$0.key, last($0.key)]) })
        let remedy = near.isEmpty ? "`btcall config` lists all" : "did you mean \(near.joined(separator: " or "))?"
        throw CommandFailure("there is no key \(name); \(remedy)")
    }
}

extension Setting {
    var valueText: String { value.isEmpty ? "-" : value }
}

extension Setting.Effect {
    var text: String {
        switch self {
        case .now: "at once"
        case .reopen: "on reopening"
        case .nextCall: "next call"
        case .restart: "restart"
        }
    }

    var sentence: String {
        switch self {
        case .now: "acts at once"
        case .reopen: "acts when the headset's link or the sound card is next opened"
        case .nextCall: "acts with the next call"
        case .restart: "acts when btcalld starts"
        }
    }
}

extension Setting.Origin {
    var text: String {
        switch self {
        case .default: "default"
        case .file: "file"
        case .runtime: "set here"
        }
    }
}
