import ArgumentParser
import BTCall
import ControlLoop

struct ConfigCommand: BridgeCommand {
    static let configuration = CommandConfiguration(
        commandName: "config", abstract: "Show and change the configuration of the running btcalld.",
        discussion: """
            Without KEY all keys, with KEY one of them, with VALUE it is set. What is set here is kept over restarts and goes
            before the configuration file, until --reset. A list has commas between its elements.
            """)

    @Argument(help: "A key, with its section or without: routing.exclude, exclude.")
    var key: String?

    @Argument(help: "Its new value, as in the configuration file.")
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
                Self.table(settings).lines.forEach(output.print)
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
    /// - Throws: `CommandFailure` that names what was perhaps meant.
    static func find(_ name: String, in settings: [Setting]) throws -> Setting {
        if let setting = settings.first(where: { $0.key == name }) { return setting }
        let short = settings.filter { $0.key.split(separator: ".").last.map(String.init) == name }
        if short.count == 1 { return short[0] }
        guard short.isEmpty else {
            throw CommandFailure("\(name) is a key of several sections: \(short.map(\.key).joined(separator: ", "))")
        }
        let near = suggestions(for: name, in: settings)
        let remedy = near.isEmpty ? "`btcall config` lists all" : "did you mean \(near.joined(separator: " or "))?"
        throw CommandFailure("there is no key \(name); \(remedy)")
    }

    /// At most three, the nearest first.
    private static func suggestions(for name: String, in settings: [Setting]) -> [String] {
        let wanted = Array(name.lowercased().utf8)
        let rated = settings.compactMap { setting -> (key: String, distance: Int)? in
            let words = [setting.key, setting.key.split(separator: ".").last.map(String.init) ?? ""]
            let distance =
                words.map { word in
                    let bytes = Array(word.lowercased().utf8)
                    let isPart = wanted.count >= 4 && word.lowercased().contains(name.lowercased())
                    return isPart ? 1 : Self.distance(wanted, bytes)
                }.min() ?? .max
            return distance <= max(2, wanted.count / 3) ? (setting.key, distance) : nil
        }
        let best = rated.map(\.distance).min() ?? 0
        return rated.filter { $0.distance <= best + 1 }.sorted { $0.distance < $1.distance }.prefix(3).map(\.key)
    }

    /// How many bytes have to be added, taken away or replaced to make one of the other.
    private static func distance(_ one: [UInt8], _ other: [UInt8]) -> Int {
        var row = Array(0...other.count)
        for (index, byte) in one.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for (column, candidate) in other.enumerated() {
                let replaced = diagonal + (byte == candidate ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(replaced, diagonal + 1, row[column] + 1)
            }
        }
        return row[other.count]
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
