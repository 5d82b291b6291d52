import ArgumentParser
import BTCall
import CommandKit
import ControlLoop
import JSONText
import Spelling

struct ConfigCommand: BridgeCommand {
    static let configuration = CommandConfiguration(
        commandName: "config", abstract: "Show and change the configuration of the running btcalld.",
        discussion: """
            Without KEY all keys, with KEY one of them, with VALUE it is set. What is set here is kept over restarts and goes \
            before the configuration file, until --reset. A list has commas between its elements.

            Examples:
              btcall config headsetOrder
              btcall config volumeCeiling 12
              btcall config volumeCeiling --reset
            """)

    @Argument(
        help: "A key, with its section or without: routing.exclude, exclude.", completion: SettingName.completion)
    var key: String?

    @Argument(help: "Its new value, as in the configuration file.", completion: SettingName.valueCompletion)
    var value: String?

    @Flag(help: "Give the key back to the configuration file, or to its default.")
    var reset = false

    @OptionGroup var options: CommonOptions

    func validate() throws {
        if reset, key == nil || value != nil { throw ValidationError("--reset takes a KEY and no VALUE.") }
    }

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        let settings = try await bridge.settings()
        guard let key else {
            if options.json {
                output.print(.array(settings.map(\.json)))
            } else {
                output.print(Self.table(settings))
            }
            return
        }
        let name = try SettingName.find(key, in: settings).key
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

/// Finds a setting by what a person writes.
enum SettingName {
    /// The keys of the running btcalld.
    static let completion = CompletionKind.custom { words, _, _ in
        CompletionCandidate.lines(
            CompletionCandidate.fromDaemon(words) { bridge in
                try await bridge.settings().map { CompletionCandidate($0.key, $0.summary) }
            })
    }

    /// The values of the key before them, where its values are words.
    static let valueCompletion = CompletionKind.custom { words, index, _ in
        guard words.indices.contains(index - 1) else { return [] }
        let key = words[index - 1]
        return CompletionCandidate.lines(
            CompletionCandidate.fromDaemon(words) { bridge in
                let setting = try find(key, in: try await bridge.settings())
                return values(accepted: setting.accepted).map { CompletionCandidate($0) }
            })
    }

    /// What can be written for a setting, unless it is described rather than listed.
    static func values(accepted: String) -> [String] {
        let list = accepted.replacing(" or ", with: ",").replacing("|", with: ",")
        let values = list.split(separator: ",").map { Self.trimmed($0) }
        guard values.count > 1, values.allSatisfy({ !$0.isEmpty && !$0.contains(" ") }) else { return [] }
        return values
    }

    private static func trimmed(_ text: Substring) -> String {
        String(text.drop { $0.isWhitespace }.reversed().drop { $0.isWhitespace }.reversed())
    }

    /// - Throws: `CommandFailure` that names what was perhaps meant.
    static func find(_ name: String, in settings: [Setting]) throws -> Setting {
        if let setting = settings.first(where: { $0.key == name }) { return setting }
        let short = settings.filter { $0.key.split(separator: ".").last.map(String.init) == name }
        if short.count == 1 { return short[0] }
        guard short.isEmpty else {
            throw CommandFailure("\(name) is a key of several sections: \(short.map(\.key).joined(separator: ", "))")
        }
        let near = Suggestion.words(
            near: name,
            among: settings.map { ($0.key, [$0.key, $0.key.split(separator: ".").last.map(String.init) ?? ""]) })
        let remedy = near.isEmpty ? "`btcall config` lists all" : "did you mean \(near.joined(separator: " or "))?"
        throw CommandFailure("there is no key \(name); \(remedy)")
    }
}

extension Setting {
    var json: JSON {
        [
            "key": .string(key),
            "value": JSON(value.isEmpty ? nil : value),
            "default": JSON(defaultValue.isEmpty ? nil : defaultValue),
            "accepted": .string(accepted),
            "effect": .string(effect.rawValue),
            "origin": .string(origin.rawValue),
            "summary": .string(summary),
        ]
    }

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
        case .reopen: "acts when the headset's link or the sound card is opened again"
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
