import Foundation
import TestSupport
import Testing

/// The floors of `Sources`: a module's folder says what kind of code it is, and what it may import.
@Suite struct FloorsTests {
    /// A module of Swift, or of C, below `Sources`.
    private struct Module {
        let name: String
        let floor: String
        /// What each file imports, by path.
        let imports: [(path: String, module: String)]
    }

    /// What a floor may import: modules of these floors, and of the system or other packages these alone.
    private struct Rule {
        let floors: Set<String>
        let others: Set<String>
        /// Modules of further floors.
        var modules: Set<String> = []
    }

    private static let rules: [String: Rule] = [
        // What Swift cannot import.
        "C": Rule(floors: [], others: []),
        // No C, no clock, no file: `Instant` is in BluetoothTypes.
        "Pure": Rule(floors: ["Pure"], others: []),
        // Glibc has the floating point functions and the descriptors; Synchronization has the atomics.
        "RealTime": Rule(floors: ["C", "Pure", "RealTime"], others: ["Glibc", "Synchronization"]),
        "Shells": Rule(floors: ["C", "Pure", "Shells"], others: ["Glibc", "Logging", "Synchronization"]),
        // What applications link: nothing of the daemon, and nothing of C itself.
        "Client": Rule(floors: ["Pure", "Shells", "Client"], others: ["Glibc", "Synchronization"]),
        // Of the client only the names of the bus contract, which both sides have to agree on. Without Foundation, which would
        // be most of the program that ships.
        "Daemon": Rule(
            floors: ["C", "Pure", "RealTime", "Shells", "Daemon"], others: ["Glibc", "Logging", "Synchronization"],
            modules: ["BTCallAPI"]),
        // Stands in for the outside of the daemon, and so never knows its inside.
        "Simulator": Rule(
            floors: ["C", "Pure", "RealTime", "Shells", "Simulator"],
            others: ["Foundation", "Glibc", "Logging", "Synchronization"]),
    ]
    /// Modules that may import further floors than theirs, and why.
    private static let wider: [String: Set<String>] = [
        // The far end of a call: it sends and hears samples, and measures them with the codecs' own means.
        "CallExchange": ["RealTime"],
        // Runs the daemon's real code in the simulated world, and measures it.
        "BTCallBench": ["Client", "Daemon"],
    ]

    /// The programs put all of it together, each with what the manifest gives it.
    private static let free: Set = ["Programs"]

    /// The rooms of the daemon: each may import those before it.
    private static let rooms = [
        "Configuration", "Diagnostics", "AudioPaths", "CallControl", "BoardControl", "HeadsetControl", "BusObjects",
        "BTCallDaemon",
    ]

    private static let beginnings = [
        "import ", "package import ", "public import ", "internal import ", "private import ", "fileprivate import ",
        "@",
    ]

    /// The module of an import declaration, whatever stands before it or is picked from the module.
    static func imported(by line: Substring) -> String? {
        // Most lines are none, and an expression is slow.
        let code = line.drop { $0 == " " }
        guard beginnings.contains(where: { code.hasPrefix($0) }) else { return nil }
        let declaration =
            /^ *(@\w+(\([^)]*\))? +)*((package|public|internal|private|fileprivate) +)?import +((struct|class|enum|protocol|typealias|func|var|let) +)?(?<name>\w+)/
        return line.firstMatch(of: declaration).map { String($0.name) }
    }

    /// The names in the folder of that path, without what is hidden.
    private func names(in folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: RepositoryTests.root.appending(path: folder).path)
            .filter { !$0.hasPrefix(".") }.sorted()
    }

    private func modules() throws -> [Module] {
        var modules: [Module] = []
        for floor in try names(in: "Sources") {
            for name in try names(in: "Sources/\(floor)") {
                let imports = try Page.paths(withSuffix: ".swift", under: ["Sources/\(floor)/\(name)"]).flatMap {
                    path in
                    try RepositoryTests.contents(path).split(separator: "\n").compactMap(Self.imported)
                        .map { (path: path, module: $0) }
                }
                modules.append(Module(name: name, floor: floor, imports: imports))
            }
        }
        #expect(modules.count > 30)
        return modules
    }

    /// The dependencies that the manifest gives each target of `Sources`, by the target's path.
    private func dependencies() throws -> [String: Set<String>] {
        let manifest = try RepositoryTests.contents("Package.swift")
        let target = /\n {8}\.(target|executableTarget|systemLibrary|testTarget)\(/
        var found: [String: Set<String>] = [:]
        for block in manifest.split(separator: target).dropFirst() {
            guard let path = block.firstMatch(of: /path: "(Sources\/[^"]+)"/)?.1 else { continue }
            guard let list = block.firstMatch(of: /dependencies: \[/) else {
                found[String(path)] = []
                continue
            }
            // Up to the bracket that closes it: conditions have brackets of their own.
            var depth = 1
            let end = block[list.range.upperBound...].firstIndex { character in
                if character == "[" { depth += 1 } else if character == "]" { depth -= 1 }
                return depth == 0
            }
            let text = try block[list.range.upperBound..<#require(end)]
            var names = Set(text.matches(of: /"([^"]+)"/).map { String($0.1) })
            if text.contains(/\blogging\b/) { names.insert("Logging") }
            if text.contains(/\bargumentParser\b/) { names.insert("ArgumentParser") }
            found[String(path)] = names
        }
        #expect(found.count > 30)
        return found
    }

    @Test func `an import is recognised with all that may stand around it`() {
        #expect(Self.imported(by: "import Routing") == "Routing")
        #expect(Self.imported(by: "    package import struct DBus.Value") == "DBus")
        #expect(Self.imported(by: "@preconcurrency public import Logging  // here") == "Logging")
        #expect(Self.imported(by: "@_spi(Tests) import ALSA") == "ALSA")
        #expect(Self.imported(by: "// import ALSA") == nil)
        #expect(Self.imported(by: "#if canImport(CLC3)") == nil)
        #expect(Self.imported(by: "importance = 1") == nil)
    }

    @Test func `every folder of Sources is a floor that has a rule`() throws {
        #expect(try Set(names(in: "Sources")) == Set(Self.rules.keys).union(Self.free))
        #expect(try Set(names(in: "Sources/Daemon")) == Set(Self.rooms))
    }

    @Test func `a floor imports only what it may`() throws {
        let modules = try modules()
        let floors = Dictionary(modules.map { ($0.name, $0.floor) }, uniquingKeysWith: { first, _ in first })
        for module in modules where !Self.free.contains(module.floor) {
            let rule = try #require(Self.rules[module.floor])
            let allowed = rule.floors.union(Self.wider[module.name] ?? [])
            for (path, name) in module.imports {
                let isAllowed =
                    floors[name].map { allowed.contains($0) || rule.modules.contains(name) }
                    ?? rule.others.contains(name)
                #expect(isAllowed, "\(path) imports \(name), which \(module.floor) may not")
            }
        }
    }

    @Test func `no room of the daemon imports a later one`() throws {
        for module in try modules() where module.floor == "Daemon" {
            let place = try #require(Self.rooms.firstIndex(of: module.name))
            for (path, name) in module.imports {
                guard let other = Self.rooms.firstIndex(of: name) else { continue }
                #expect(other < place, "\(path) imports \(name), which comes after \(module.name)")
            }
        }
    }

    /// The compiler finds the modules of indirect dependencies, too, and so does the package manager's own check.
    @Test func `a module imports only what the manifest gives it directly`() throws {
        let dependencies = try dependencies()
        let modules = try modules()
        let known = Set(modules.map(\.name)).union(["ArgumentParser", "Logging"])
        for module in modules {
            guard let given = dependencies["Sources/\(module.floor)/\(module.name)"] else {
                // Built by its own script, without the package.
                #expect(module.name == "PCMPlugin", "\(module.name) is no target of the manifest")
                continue
            }
            for (path, name) in module.imports where known.contains(name) {
                #expect(given.contains(name), "\(path) imports \(name), which is no dependency of \(module.name)")
            }
        }
    }
    @Test func `the manifest gives a module nothing that it does not import`() throws {
        let dependencies = try dependencies()
        let modules = try modules()
        let known = Set(modules.map(\.name)).union(["ArgumentParser", "Logging"])
        for module in modules where !module.imports.isEmpty {
            let imports = Set(module.imports.map(\.module))
            let given = dependencies["Sources/\(module.floor)/\(module.name)"] ?? []
            for name in given.intersection(known).subtracting(imports).sorted() {
                Issue.record("\(module.name) has the dependency \(name), which no file of it imports")
            }
        }
    }
}
