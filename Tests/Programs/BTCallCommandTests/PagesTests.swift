import ArgumentParser
import CommandKit
import CommandTestSupport
import Foundation
import Testing

@testable import BTCallCommand

/// Checks that the program accepts every btcall command on a page, in a manual or in an example.
@Suite struct PagesTests {
    private static let root = URL(filePath: #filePath).appending(path: "../../../..").standardized

    /// Leaves out pages of changes, which use old names of verbs.
    private static func files() throws -> [String] {
        let folders = [
            "", "dbus", "man", "udev", "etc", "Examples", "Examples/door-station", "Examples/kiosk",
            "Sources/Client/BTCall/BTCall.docc",
        ]
        // Files have a suffix, folders have none.
        let topics = try FileManager.default.contentsOfDirectory(atPath: root.appending(path: "docs").path())
            .filter { !$0.contains(".") }
        let pages = ["docs"] + topics.map { "docs/\($0)" }
        return try (folders + pages).flatMap { folder in
            try FileManager.default.contentsOfDirectory(atPath: root.appending(path: folder).path())
                .filter { name in
                    let isPage = name.hasSuffix(".md") && name != "CHANGELOG.md"
                    let isOther =
                        ["man", "etc", "Examples"].contains(folder) && name.contains(".") && !name.hasSuffix(".wav")
                    return isPage || isOther
                }
                .map { folder.isEmpty ? $0 : "\(folder)/\($0)" }
        }.sorted()
    }

    private static func kind(of file: String) -> PageCommands.Kind {
        if file.hasSuffix(".md") { return .page }
        if file.hasPrefix("man/") { return .manual }
        return file.hasPrefix("etc/") ? .configuration : .script
    }

    /// The error in a command; nil when the program accepts it, or when it only names a verb.
    static func mistake(in words: [String]) -> String? {
        if words.isEmpty || words == ["--version"] || words == ["--help"] || LaptopVerbs.verb(of: words) != nil {
            return nil
        }
        if words.first == "help" { return words == ["help", "--all"] ? nil : mistake(in: Array(words.dropFirst())) }
        let arranged = CommandWords.arranged(words, of: Entry.self, [])
        guard CommandWords.arranged(words, of: Entry.self, OldVerbs.names) == arranged else { return "an old name" }
        var type: any ParsableCommand.Type = Entry.self
        var rest = arranged[...]
        while let word = rest.first,
            let verb = type.configuration.subcommands.first(where: { $0.configuration.commandName == word })
        {
            type = verb
            rest = rest.dropFirst()
        }
        if type != Entry.self, rest.isEmpty { return nil }
        do {
            _ = try Entry.parseAsRoot(arranged)
            return nil
        } catch {
            return Entry.exitCode(for: error) == .success ? nil : Entry.message(for: error)
        }
    }

    @Test func `Every command on a page is accepted`() throws {
        var count = 0
        for file in try Self.files() {
            let text = try String(contentsOf: Self.root.appending(path: file), encoding: .utf8)
            for words in PageCommands(text, Self.kind(of: file)).commands {
                count += 1
                if let mistake = Self.mistake(in: words) {
                    Issue.record("\(file): btcall \(words.joined(separator: " ")): \(mistake)")
                }
            }
        }
        #expect(count > 150, "\(count)")
    }

    @Test func `Commands are found in code and in tables, and nowhere else`() {
        let page = """
            Prose about btcall status. `btcall mute on\\|off`, `sudo btcall setup`, and
            `btcall prefer DEVICE -- COMMAND…`.
            ```sh
            $ btcall calls --json | jq .   # btcall dance
            # btcall dance
            if btcall status; then true; fi
            ```
            """
        #expect(
            PageCommands(page, .page).commands == [
                ["mute", "on"], ["mute", "off"], ["setup"], ["prefer", "earpiece", "--", "true"], ["calls", "--json"],
                ["status"],
            ])
    }

    @Test(arguments: [
        (["prefer", "earpiece"], true), (["move"], true), (["select", "earpiece"], false), (["dance"], false),
        (["mute", "loud"], false), (["status", "--wtach"], false), (["help", "status"], true), (["replay", "x"], true),
    ])
    func `A wrong command is found`(words: [String], isRight: Bool) {
        #expect((Self.mistake(in: words) == nil) == isRight)
    }
}
