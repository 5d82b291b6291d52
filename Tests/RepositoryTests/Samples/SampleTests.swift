import ArgumentParser
import BTCallDaemon
import BTCallSimulator
import CommandKit
import Configuration
import Foundation
import JSONText
import TestSupport
import Testing

@testable import BTCallCommand
@testable import BTCallLab

/// Every sample of the documentation is compiled, run or compared with its subject.
@Suite struct SampleTests {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    static let pages = Result { try Page.all() }

    static func samples(_ kinds: String...) throws -> [Sample] {
        try pages.get().flatMap(\.samples).filter { kinds.contains($0.kind) }
    }

    /// Kinds of blocks that are not checked, with the reason.
    static let skippedKinds = [
        "text": "a drawing, a format or a print, not a thing to type",
        "conf": "a configuration of another program",
    ]

    /// Foreign programs: their lines are only parsed.
    static let skippedPrograms: Set<String> = [
        "coredumpctl", "curl", "date", "dbus-daemon", "ffmpeg", "gst-launch-1.0", "lldb", "ls", "modprobe", "openssl",
        "printf",
        "sed",
        "sh",
        "sox",
        "wireplumber", "adduser", "amixer", "aplay", "apt-get", "arecord", "bluetoothctl", "chromium", "cp", "jq",
        "journalctl",
        "modprobe", "tee", "udevadm", "usermod",
    ]

    // MARK: What kinds there are

    @Test func `Every sample says what it is, and kinds that nothing checks are those that are listed`() throws {
        var skipped: [String: Int] = [:]
        for page in try Self.pages.get() {
            for line in page.indented {
                Issue.record("\(page.path):\(line): an indented sample: fence it, with its kind")
            }
            for sample in page.samples {
                switch sample.kind {
                case "swift", "sh", "console", "ini", "json", "js": break
                case "": Issue.record("\(sample): the fence has no kind")
                case let kind where Self.skippedKinds[kind] != nil: skipped[kind, default: 0] += 1
                case let kind: Issue.record("\(sample): the test does not know samples of kind \(kind)")
                }
            }
        }
        // Each skipped kind must still be in use.
        #expect(Set(skipped.keys) == Set(Self.skippedKinds.keys))
        for (kind, count) in skipped.sorted(by: { $0.key < $1.key }) {
            print("skipped: \(count) samples of kind \(kind): \(Self.skippedKinds[kind] ?? "")")
        }
    }

    // MARK: Swift

    @Test func `Every Swift sample is a part of a file that is compiled`() throws {
        let files = try Page.paths(withSuffix: ".swift", under: ["Sources", "Tests"]).map {
            Self.code(try RepositoryTests.contents($0))
        }
        let samples = try Self.samples("swift")
        #expect(!samples.isEmpty)
        for sample in samples {
            let code = Self.code(sample.text)
            #expect(!code.isEmpty)
            #expect(files.contains { Self.holds($0, code) }, "\(sample) is not in any file")
        }
    }

    @Test func `Every JavaScript sample is a module that Node can parse`() throws {
        let samples = try Self.samples("js")
        #expect(!samples.isEmpty)
        for sample in samples {
            let process = Process()
            let source = Pipe()
            let errors = Pipe()
            process.executableURL = URL(filePath: "/usr/bin/env")
            process.arguments = ["node", "--check", "--input-type=module", "-"]
            process.standardInput = source
            process.standardError = errors
            try process.run()
            source.fileHandleForWriting.write(Data(sample.text.utf8))
            try source.fileHandleForWriting.close()
            let said = errors.fileHandleForReading.readDataToEndOfFile()
            process.waitUntilExit()
            #expect(process.terminationStatus == 0, "\(sample): \(String(decoding: said, as: UTF8.self))")
        }
    }

    @Test func `The walk through the intercom shows all of it, in order`() throws {
        let page = try Page("Sources/Client/BTCall/BTCall.docc/Intercom.md")
        let shown = page.samples.filter { $0.kind == "swift" }.flatMap { Self.code($0.text) }
        let program = try ["Intercom", "Main"].flatMap { name in
            Self.code(try RepositoryTests.contents("Sources/Programs/IntercomExample/\(name).swift"))
        }
        #expect(shown == program)
    }

    @Test func `The pages of the library name what there is`() throws {
        let code = try Page.paths(withSuffix: ".swift", under: ["Sources/Client/BTCall"]).map {
            try RepositoryTests.contents($0)
        }
        let words = Set(code.flatMap { $0.split { !($0.isLetter || $0.isNumber) } }.map(String.init))
        let pages = try Page.paths(withSuffix: ".md", under: ["Sources/Client/BTCall/BTCall.docc"])
        #expect(pages.count >= 2)
        for path in pages {
            let text = try RepositoryTests.contents(path).replacing("```", with: "")
            let parts = text.components(separatedBy: "``")
            for symbol in stride(from: 1, to: parts.count, by: 2).map({ parts[$0] }) {
                for word in symbol.split(whereSeparator: { !($0.isLetter || $0.isNumber) }) where word != "BTCall" {
                    let isThere = words.contains(String(word))
                    #expect(isThere, "\(path): \(symbol)")
                }
            }
            for link in try Self.links(path) {
                #expect(pages.contains("Sources/Client/BTCall/BTCall.docc/\(link).md"), "\(path): \(link)")
            }
        }
    }

    /// The lines that mean something, without their indentation.
    private static func code(_ text: String) -> [String] {
        text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    }

    private static func holds(_ file: [String], _ part: [String]) -> Bool {
        guard let first = part.first, file.count >= part.count else { return false }
        return (0...file.count - part.count).contains { start in
            file[start] == first && Array(file[start..<start + part.count]) == part
        }
    }

    /// The pages that `<doc:NAME>` leads to.
    private static func links(_ path: String) throws -> [String] {
        try RepositoryTests.contents(path).components(separatedBy: "<doc:").dropFirst().compactMap {
            $0.split(separator: ">").first.map(String.init)
        }
    }

    // MARK: Shell

    @Test func `Every command of the samples is one that its program takes`() throws {
        var skipped: Set<String> = []
        var checked: [String: Int] = [:]
        let samples = try Self.samples("sh", "console")
        for sample in samples {
            do {
                for command in try ShellReader.commands(in: Self.typed(sample)) {
                    if Self.skippedPrograms.contains(command[0]) {
                        skipped.insert(command[0])
                    } else {
                        try Self.check(command, on: sample.page)
                        checked[command[0], default: 0] += 1
                    }
                }
            } catch {
                Issue.record("\(sample): \(Self.words(error))")
            }
        }
        #expect((checked["btcall"] ?? 0) > 5 && (checked["busctl"] ?? 0) > 20 && (checked["btcalld"] ?? 0) > 0)
        #expect(skipped == Self.skippedPrograms)
        print("skipped: lines with \(skipped.sorted().joined(separator: ", ")): programs of others")
    }

    @Test func `Every btcall within the text has a verb and options that there are`() throws {
        var count = 0
        for page in try Self.pages.get() {
            for (line, text) in page.inlines where text.hasPrefix("btcall ") || text.hasPrefix("btcall-lab ") {
                count += 1
                do {
                    for command in try ShellReader.commands(in: text) {
                        guard let root = Self.roots[command[0]] else { continue }
                        // The page of changes uses the names of each version.
                        let oldNames = page.path.hasSuffix("CHANGELOG.md") ? OldVerbs.names : []
                        let words = CommandWords.arranged(Array(command.dropFirst()), of: root, oldNames)
                        try Self.checkWords(words[...], of: root)
                    }
                } catch {
                    Issue.record("\(page.path):\(line): \(text): \(Self.words(error))")
                }
            }
        }
        #expect(count > 100)
    }

    /// The first commands of our programs.
    private static let roots: [String: any ParsableCommand.Type] = ["btcall": Entry.self, "btcall-lab": LabEntry.self]

    /// Lines to type: all, or those after the prompt.
    private static func typed(_ sample: Sample) -> String {
        guard sample.kind == "console" else { return sample.text }
        return sample.lines.filter { $0.hasPrefix("$ ") }.map { $0.dropFirst(2) + "\n" }.joined()
    }

    private static func check(_ command: [String], on page: String) throws {
        let arguments = Array(command.dropFirst())
        switch command[0] {
        case "btcall": _ = try Entry.parseAsRoot(arguments)
        case "btcall-lab": _ = try LabEntry.parseAsRoot(arguments)
        case "btcalld":
            for word in arguments where word.hasPrefix("--") {
                try expect(DaemonCommand.usage.contains("\(word) "), "btcalld has no \(word)")
            }
        case "busctl": try BusCommand.check(arguments)
        case "cat", "cd", ".":
            for file in arguments {
                let path = file.replacing("$LAB/", with: "Tests/Lab/")
                try expect(exists(path), "there is no \(path)")
            }
        case "install":
            for file in arguments.dropLast() where file.contains("/") && !file.hasPrefix("/") { try checkSource(file) }
        case "swift": try checkBuild(arguments)
        case "systemctl":
            for unit in arguments where unit.hasPrefix("btcall") {
                let file = unit.contains(".") ? unit : unit + ".service"
                try expect(exists("dbus/\(file)"), "there is no unit dbus/\(file)")
            }
        case let program where page.hasPrefix("Tests/Lab/") && !program.contains("/"):
            // A function of the lab's scripts, or a program of its guest.
            let isFunction = try RepositoryTests.contents("Tests/Lab/lib.sh").contains("\n\(program)() {")
            try expect(isFunction || exists("Tests/Lab/guest/\(program).c"), "the lab has no \(program)")
        case let program:
            if program.hasPrefix(".build/") { return try checkSource(program) }
            // Built by Tests/Lab/setup.
            if program.hasPrefix("${LAB_DIR") || program.hasPrefix("/var/tmp/btcall-lab/") { return }
            try expect(program.contains("/"), "the test does not know the program \(program)")
            let path = RepositoryTests.root.appending(path: program).path()
            try expect(FileManager.default.isExecutableFile(atPath: path), "there is no program \(program)")
        }
    }

    /// A file of the repository, or one that is built from it.
    private static func checkSource(_ file: String) throws {
        guard file.hasPrefix(".build/") else { return try expect(exists(file), "there is no \(file)") }
        let name = file.split(separator: "/").last.map(String.init) ?? ""
        try expect(
            try RepositoryTests.contents("Package.swift").contains("\"\(name)\""),
            "\(name) is not built from Package.swift")
    }

    private static func checkBuild(_ arguments: [String]) throws {
        let manifest = try RepositoryTests.contents("Package.swift")
        for (option, value) in zip(arguments, arguments.dropFirst()) {
            if option == "--product" {
                try expect(manifest.contains("name: \"\(value)\""), "there is no product \(value)")
            } else if option == "--traits" {
                for trait in value.split(separator: ",") {
                    try expect(manifest.contains(".trait(name: \"\(trait)\""), "there is no trait \(trait)")
                }
            }
        }
    }

    /// The verb and the options of a command line whose values may be words in capitals, which no parser takes.
    private static func checkWords(_ words: ArraySlice<String>, of root: any ParsableCommand.Type) throws {
        let program = root._commandName
        guard let verb = words.first, verb != "…" else { return }
        if verb.hasPrefix("-") {
            let help = root.helpMessage(columns: 10_000)
            for option in words where option.hasPrefix("--") {
                let isThere = help.contains(option) || option == "--help" || option == "--version"
                try expect(isThere, "\(program) has no \(option)")
            }
            return
        }
        guard let type = root.configuration.subcommands.first(where: { $0._commandName == verb }) else {
            return try expect(verb == "help" || verb.allSatisfy(\.isUppercase), "\(program) has no verb \(verb)")
        }
        var subcommands: [any ParsableCommand.Type] = [type]
        subcommands += type.configuration.subcommands
        let help = subcommands.map { root.helpMessage(for: $0, columns: 10_000) }.joined()
        // Options after `--` belong to the program to start.
        for word in words.prefix(while: { $0 != "--" }) where word.hasPrefix("--") {
            let option = word.split(separator: "=").first.map(String.init) ?? word
            try expect(help.contains(option), "\(program) \(verb) has no \(option)")
        }
    }

    private static func exists(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: RepositoryTests.root.appending(path: path).path())
    }

    private static func expect(_ isRight: Bool, _ description: String) throws {
        guard isRight else { throw Failure(description: description) }
    }

    private static func words(_ error: any Error) -> String {
        error is Failure || error is BusCommand.Failure || error is ShellReader.Failure
            ? "\(error)" : Entry.message(for: error)
    }

    // MARK: Data

    @Test func `Every configuration sample passes btcalld --check`() throws {
        let samples = try Self.samples("ini")
        #expect(samples.count >= 3)
        for sample in samples {
            let file = FileManager.default.temporaryDirectory.appending(path: "sample-\(UUID().uuidString).conf")
            defer { try? FileManager.default.removeItem(at: file) }  // A file in the temporary directory may stay.
            try sample.text.write(to: file, atomically: true, encoding: .utf8)
            do {
                #expect(try ConfigurationCheck.check(file.path()).contains("is understood"))
            } catch {
                Issue.record("\(sample): \(error)")
            }
        }
    }

    @Test func `Every JSON sample is JSON, and a scenario holds`() throws {
        let samples = try Self.samples("json")
        #expect(!samples.isEmpty)
        for sample in samples {
            do {
                let value = try JSONSerialization.jsonObject(with: Data(sample.text.utf8))
                guard let format = (value as? [String: Any])?["format"] as? String, format.hasPrefix("btcall-scenario")
                else { continue }
                for scenario in try ScenarioFile(Data(sample.text.utf8)).scenarios {
                    var runner = ScenarioRunner(scenario)
                    let failures = runner.run().failures
                    #expect(failures.isEmpty, "\(sample): \(failures.map(\.text))")
                }
            } catch {
                Issue.record("\(sample): \(error)")
            }
        }
    }

    // MARK: The reader

    @Test func `Shell samples are taken apart as a shell would`() throws {
        let text = """
            a 'b c' "d $(e f | g) h" \\
                i # j
            VALUE=$(k "l") && sudo m >n 2>&1 & o;
            """
        #expect(
            try ShellReader.commands(in: text) == [
                ["e", "f"], ["g"], ["a", "b c", "d $() h", "i"], ["k", "l"], ["m"], ["o"],
            ])
        #expect(throws: ShellReader.Failure.self) { try ShellReader.commands(in: "a 'b") }
        #expect(throws: ShellReader.Failure.self) { try ShellReader.commands(in: "a $(b") }
    }

    @Test(arguments: [
        "get-property org.btcall /org/btcall org.btcall.Router1 Reason",
        "get-property org.btcall /org/btcall/router org.btcall.Router1 Reasons",
        "set-property org.btcall /org/btcall/router org.btcall.Router1 Reason s none",
        "set-property org.btcall /org/btcall/router org.btcall.Router1 Preferred b true",
        "call org.btcall /org/btcall/router org.btcall.Router1 Explain",
        "call org.bluez /org/btcall/router org.btcall.Router1 Explain a{sv} 0",
        "monitor org.btcall --match type='signal',interface='org.btcall.Router1',member='Gone'",
        "dance org.btcall",
    ])
    func `A line with busctl that says something wrong is found`(line: String) throws {
        #expect(throws: BusCommand.Failure.self) { try BusCommand.check(line.split(separator: " ").map(String.init)) }
    }
}
