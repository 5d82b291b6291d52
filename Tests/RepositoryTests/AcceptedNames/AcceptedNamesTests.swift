import BTCallAPI
import BluetoothTypes
import Configuration
import Foundation
import TestSupport
import Testing

@testable import HandsFree

/// Every name that a user, an application or a headset may send has a test: keys, commands, members of the bus, entries of
/// dictionaries, quirks, and functions of the library. A new one without a test fails here.
///
/// The tests are found by the words that they use. `Accepted.tsv` names the test where it uses another word.
@Suite struct AcceptedNamesTests {
    private static let index = Result { try TestIndex() }

    private func index() throws -> TestIndex { try Self.index.get() }

    // MARK: The table

    /// Tests by accepted name, for tests that use another word.
    private func table() throws -> [String: TestIndex.Test] {
        var rows: [String: TestIndex.Test] = [:]
        let text = try RepositoryTests.contents("Tests/RepositoryTests/AcceptedNames/Accepted.tsv")
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            let cells = line.split(separator: "\t").map(String.init)
            try #require(cells.count == 3, "\(line): a name, a suite and a test, with tabs between")
            #expect(rows[cells[0]] == nil, "\(cells[0]) is twice in the table")
            rows[cells[0]] = .init(suite: cells[1], name: cells[2])
        }
        return rows
    }

    @Test func `the table names tests that exist, and nothing that is no longer accepted`() throws {
        let tests = Set(try index().tests)
        let accepted = Set(Self.keys.map(\.name) + (try Self.members().map(\.name)) + Self.entries.map(\.name))
        for (name, test) in try table() {
            // The sets are too long to be printed.
            let (isTest, isAccepted) = (tests.contains(test), accepted.contains(name))
            #expect(isTest, "\(name): \(test.suite) has no test \(test.name)")
            #expect(isAccepted, "\(name) is not accepted")
        }
    }

    @Test func `the index finds the tests of a word, also through helpers, and none of another`() {
        let text = """
            private func tone() -> Int { 0 }

            @Suite struct KettleTests {
                private static let rows = [("kettle.heat", "yes")]

                private func boil(_ words: String) {
                    set("[kettle]\\nlid = open", Name.Kettle.whistle)
                }

                @Test(arguments: rows)
                func `it boils`(row: (String, String)) {
                    func nested() {}
                    boil("Pour")
                }

                @Test func `it is cold`() { heat(at: 3) }
            }
            """
        let index = TestIndex(text: text, file: "KettleTests")
        #expect(index.tests.map(\.name) == ["it boils", "it is cold"])
        for word in ["kettle.heat", "\"kettle.heat\"", "lid =", "[kettle", ".whistle", "\"Pour\""] {
            #expect(index.using(word) == [0], "\(word)")
        }
        #expect(index.using("at:") == [1] && index.using("heat") == [0, 1])
        #expect(index.using("kettle.cool", "whistle:", "\"heat\"").isEmpty)
    }

    // MARK: Keys of the configuration

    private struct Key {
        let section: String
        let key: String
        let effect: SettingDescription.Effect
        var name: String { "\(section).\(key)" }
    }

    private static var keys: [Key] {
        var keys: [Key] = []
        for section in ConfigurationSection.all + [.headset(BluetoothAddress(value: 1))] {
            // `device` for [device earpiece], `headset` for [headset ADDRESS].
            let title = section.name.split(separator: " ").first.map(String.init) ?? ""
            keys += section.keys.map { Key(section: title, key: $0.name, effect: $0.effect) }
        }
        return keys
    }

    @Test func `every key of the configuration has a test that sets it`() throws {
        let (index, table) = (try index(), try table())
        let scenarios = try Page.paths(withSuffix: ".json", under: ["Tests/Pure/RoutingTests/Scenarios"])
            .map { try RepositoryTests.contents($0) }
        let dialogues = try Self.dialogues()
        #expect(Self.keys.count > 140)
        for accepted in Self.keys {
            let (name, section, key) = (accepted.name, accepted.section, accepted.key)
            var isTested = !index.using(name).isEmpty
            isTested = isTested || !index.using("\(key) =").isDisjoint(with: index.using("[\(section)"))
            if section == "routing" { isTested = isTested || scenarios.contains { $0.contains("\"\(key)\"") } }
            if section == "headset" { isTested = isTested || dialogues.contains { Self.has(quirk: key, in: $0) } }
            #expect(isTested || table[name] != nil, "no test sets \(name)")
        }
    }

    @Test func `S1.26 every key that can be changed at run time has a test that changes it`() throws {
        let (index, table) = (try index(), try table())
        for name in Self.keys.filter({ $0.effect != .restart }).map(\.name) {
            #expect(!index.using("\"\(name)\"").isEmpty || table[name] != nil, "no test changes \(name)")
        }
    }

    /// Whether a dialogue gives the headset this quirk: `quirks: forgets_volume` for `forgetsVolume`.
    private static func has(quirk key: String, in dialogue: String) -> Bool {
        let words = key.reduce(into: "") { text, character in
            text += character.isUppercase ? "_" + character.lowercased() : String(character)
        }
        let names = [
            words, words.replacing("broken_codecs", with: "broken_codec").replacing("mask_features", with: "mask"),
        ]
        return dialogue.split(separator: "\n").contains { line in
            line.hasPrefix("quirks: ") && line.split { $0 == " " || $0 == "," }.contains { names.contains(String($0)) }
        }
    }

    // MARK: Commands of headsets

    private static func dialogues() throws -> [String] {
        try Page.paths(withSuffix: ".dialogue", under: ["Tests/Pure/HandsFreeTests/Dialogues"])
            .map { try RepositoryTests.contents($0) }
    }

    /// Commands on the headset's lines that the gateway answers before the next one, upper-case and without arguments.
    private static func answered(in dialogue: String) -> Set<String> {
        var commands: Set<String> = []
        var asked: String?
        for line in dialogue.split(separator: "\n") {
            let words = line.split(separator: " ", maxSplits: 1)
            guard words.count == 2 else { continue }
            if words[0] == "HF" {
                let line = words[1].drop { $0 == " " }.uppercased()
                asked = line.hasPrefix("AT") ? String(line.dropFirst(2)) : nil
            } else if words[0] == "AG", let name = asked {
                commands.insert(String(name.prefix { !"=?".contains($0) }))
                // ATD has its number, and an empty line no name.
                if name.hasPrefix("D") { commands.insert("D") }
                asked = nil
            }
        }
        return commands
    }

    @Test func `every command of headsets has a dialogue in which the gateway answers it`() throws {
        let answered = try Self.dialogues().reduce(into: Set<String>()) { $0.formUnion(Self.answered(in: $1)) }
        #expect(CommandName.allCases.count > 40 && !answered.contains("+NONSENSE"))
        for command in CommandName.allCases {
            #expect(answered.contains(command.rawValue), "no dialogue has AT\(command.rawValue)")
        }
    }

    @Test func `a command counts as answered only by a line of the gateway`() {
        let dialogue = "HF   AT+ONE=1\nAG   OK\nHF   AT+TWO?\nHF   AT+THREE\nevent battery 10\nHF   ATD12;\nAG   OK\n"
        #expect(Self.answered(in: dialogue) == ["+ONE", "D", "D12;"])
    }

    @Test func `every quirk has a dialogue or a test that gives it to a headset`() throws {
        let (index, table, dialogues) = (try index(), try table(), try Self.dialogues())
        for key in QuirkEffect.Key.allCases.map(\.rawValue) {
            let isTested = dialogues.contains { Self.has(quirk: key, in: $0) } || !index.using("\(key) =").isEmpty
            #expect(isTested || table["headset.\(key)"] != nil, "no test has the quirk \(key)")
        }
    }

    // MARK: The bus

    /// Members of the interfaces: `Call1.Answer`, with the constants and functions that tests use for them.
    private static func members() throws -> [(name: String, words: Set<String>)] {
        let constants = try constants()
        let functions = try libraryFunctions()
        var members: [(String, Set<String>)] = []
        for path in try Page.paths(withSuffix: ".xml", under: ["dbus"]) {
            var interface = ""
            for line in try RepositoryTests.contents(path).split(separator: "\n") {
                let words = line.split(separator: "\"")
                guard words.count > 1 else { continue }
                let name = String(words[1])
                let element = line.drop { $0 == " " }
                if element.hasPrefix("<interface") {
                    interface = String(name.split(separator: ".").last ?? "")
                } else if ["<method", "<signal", "<property"].contains(where: { element.hasPrefix($0) }) {
                    let own = constants[name] ?? [Self.lowerCamel(name)]
                    let used = own.union(own.flatMap { functions[$0] ?? [] })
                    members.append(("\(interface).\(name)", Set(used.map { ".\($0)" }).union(["\"\(name)\""])))
                }
            }
        }
        return members
    }

    /// The constants of `BTCallName` by their text: `Answer` is `answer`.
    private static func constants() throws -> [String: Set<String>] {
        var constants: [String: Set<String>] = [:]
        for line in try RepositoryTests.contents("Sources/Client/BTCallAPI/BTCallName.swift").split(separator: "\n") {
            let words = line.split(separator: " ")
            guard let place = words.firstIndex(of: "let"), words.count > place + 3, words[place + 2] == "=" else {
                continue
            }
            constants[String(words[place + 3].replacing("\"", with: "")), default: []].insert(String(words[place + 1]))
        }
        return constants
    }

    /// The library's public functions and values by the constants that they use.
    private static func libraryFunctions() throws -> [String: Set<String>] {
        var functions: [String: Set<String>] = [:]
        for text in try NamesTests.library() {
            var name: String?
            for line in text.split(separator: "\n") {
                let trimmed = line.drop { $0 == " " }
                if trimmed.hasPrefix("public ") || trimmed.hasPrefix("@discardableResult public ") {
                    name = NamesTests.publicNames(in: String(trimmed)).first
                }
                guard let name else { continue }
                for word in TestIndex.words(in: String(line)) where word.hasPrefix(".") {
                    functions[String(word.dropFirst()), default: []].insert(name)
                }
            }
        }
        return functions
    }

    private static func lowerCamel(_ name: String) -> String { name.prefix(1).lowercased() + name.dropFirst() }

    @Test func `every method, signal and property has a test that uses it`() throws {
        let (index, table, members) = (try index(), try table(), try Self.members())
        #expect(members.count > 160)
        for (name, words) in members {
            #expect(!index.using(words).isEmpty || table[name] != nil, "no test uses \(name)")
        }
    }

    // MARK: Entries of dictionaries

    private static let entries = DictionaryArgument.all.flatMap { argument in
        argument.entries.map { (name: "\(argument.member).\($0.name)", member: argument.member, entry: $0.name) }
    }

    /// Parameters of the library that have another name than their entry on the bus.
    private static let parameters = [
        "format": "sampleFormat", "stream": "isStream", "addresses": "includingAddresses", "resume": "resuming",
        "forgetHeadsets": "forgettingHeadsets", "callState": "hasCallState", "number": "handle", "video": "hasVideo",
        "duck": "duckDecibels", "mixable": "isMixable", "replacesMicrophone": "replacingMicrophone", "time": "at",
    ]

    @Test func `every entry of a method's dictionary has a test that sends it`() throws {
        let (index, table) = (try index(), try table())
        var members: [String: Set<String>] = [:]
        for (name, words) in try Self.members() {
            members[String(name.split(separator: ".").last ?? ""), default: []].formUnion(words)
        }
        #expect(Self.entries.count > 60)
        for (name, member, entry) in Self.entries {
            let users = index.using(members[member] ?? [])
            let own = [entry, Self.parameters[entry] ?? entry]
            let senders = index.using(own.flatMap { ["\"\($0)\"", "\($0):"] })
            #expect(!users.isDisjoint(with: senders) || table[name] != nil, "no test of \(member) sends \(entry)")
        }
    }

    // MARK: The library

    @Test func `every public function of the library has a test that calls or implements it`() throws {
        let index = try index()
        var functions: Set<String> = []
        for text in try NamesTests.library() {
            for line in text.split(separator: "\n") where line.contains("public ") && line.contains("func ") {
                functions.formUnion(NamesTests.publicNames(in: String(line.drop { $0 == " " })))
            }
        }
        #expect(functions.count > 100)
        for function in functions.sorted() where function.first?.isLetter == true {
            #expect(
                !index.using(".\(function)").isEmpty || index.declared.contains(function), "no test calls \(function)")
        }
    }
}
