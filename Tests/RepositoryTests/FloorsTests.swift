import Foundation
import TestSupport
import Testing

/// The floors of `Sources`: a module's folder determines its kind of code and its imports. `Tests` has the same floors: a
/// module's tests may use no more than the module.
@Suite struct FloorsTests {
    /// A module of Swift, or of C, below `Sources`.
    private struct Module {
        let name: String
        let floor: String
        /// Imports of each file, by path.
        let imports: [(path: String, module: String)]
    }

    /// Allowed imports of a floor: modules of these floors, and these modules of the system or other packages.
    private struct Rule {
        let floors: Set<String>
        let others: Set<String>
        /// Single modules of further floors.
        var modules: Set<String> = []
    }

    private static let rules: [String: Rule] = [
        // Code for APIs that Swift cannot import.
        "C": Rule(floors: [], others: []),
        // No C, no clock, no file: `Instant` is in BluetoothTypes.
        "Pure": Rule(floors: ["Pure"], others: []),
        // Glibc has the floating point functions and the descriptors; Synchronization has the atomics.
        "RealTime": Rule(floors: ["C", "Pure", "RealTime"], others: ["Glibc", "Synchronization"]),
        "Shells": Rule(floors: ["C", "Pure", "Shells"], others: ["Glibc", "Logging", "Synchronization"]),
        // Applications link this: no part of the daemon, and no C directly.
        "Client": Rule(floors: ["Pure", "Shells", "Client"], others: ["Glibc", "Synchronization"]),
        // Of the client only the names of the bus contract, on which both sides have to agree. No Foundation: it would be most of
        // the program that ships.
        "Daemon": Rule(
            floors: ["C", "Pure", "RealTime", "Shells", "Daemon"], others: ["Glibc", "Logging", "Synchronization"],
            modules: ["BTCallAPI"]),
        // Simulates the surroundings of the daemon, so it must not know the daemon's inside.
        "Simulator": Rule(
            floors: ["C", "Pure", "RealTime", "Shells", "Simulator"],
            others: ["Dispatch", "Foundation", "Glibc", "Logging", "Synchronization"]),
    ]
    /// Modules that may import floors beyond the rule, with the reason.
    private static let wider: [String: Set<String>] = [
        // The far end of a call: it sends and receives samples, and measures them with the code of the codecs.
        "CallExchange": ["RealTime"],
        // Runs the daemon's real code in the simulated world, and measures it.
        "BTCallBench": ["Client", "Daemon"],
    ]

    /// The programs put all of it together, each with what the manifest gives it.
    private static let free: Set = ["Programs"]

    /// The rooms of the daemon: each may import those before it.
    private static let rooms = [
        "Configuration", "Diagnostics", "AudioPaths", "CallControl", "BoardControl", "HeadsetControl", "TalkControl",
        "BusObjects", "BTCallDaemon",
    ]

    private static let beginnings = [
        "import ", "package import ", "public import ", "internal import ", "private import ", "fileprivate import ",
        "@",
    ]

    /// The module of an import declaration, with any attributes and with any single symbol of the module.
    static func imported(by line: Substring) -> String? {
        // Most lines are not imports, and a regular expression is slow.
        let code = line.drop { $0 == " " }
        guard beginnings.contains(where: { code.hasPrefix($0) }) else { return nil }
        let declaration =
            /^ *(@\w+(\([^)]*\))? +)*((package|public|internal|private|fileprivate) +)?import +((struct|class|enum|protocol|typealias|func|var|let) +)?(?<name>\w+)/
        return line.firstMatch(of: declaration).map { String($0.name) }
    }

    /// The names in a folder, without hidden ones.
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

    /// A target of the manifest.
    private struct Target {
        let name: String
        /// Below the root of the repository.
        let path: String
        let dependencies: Set<String>
    }

    /// The targets of the manifest with a path, by path.
    private func targets() throws -> [String: Target] {
        let manifest = try RepositoryTests.contents("Package.swift")
        let beginning = /\n {8}\.(target|executableTarget|systemLibrary|testTarget)\(/
        var found: [String: Target] = [:]
        for block in manifest.split(separator: beginning).dropFirst() {
            guard let path = block.firstMatch(of: /path: "((Sources|Tests)\/[^"]+)"/)?.1 else { continue }
            let name = try #require(block.firstMatch(of: /name: "([^"]+)"/)?.1)
            var names: Set<String> = []
            if let list = block.firstMatch(of: /dependencies: \[/) {
                // Up to the bracket that closes it: conditions have brackets of their own.
                var depth = 1
                let end = block[list.range.upperBound...].firstIndex { character in
                    if character == "[" { depth += 1 } else if character == "]" { depth -= 1 }
                    return depth == 0
                }
                let text = try block[list.range.upperBound..<#require(end)]
                names = Set(text.matches(of: /"([^"]+)"/).map { String($0.1) })
                if text.contains(/\blogging\b/) { names.insert("Logging") }
                if text.contains(/\bargumentParser\b/) { names.insert("ArgumentParser") }
            }
            found[String(path)] = Target(name: String(name), path: String(path), dependencies: names)
        }
        #expect(found.count > 60)
        return found
    }

    /// Everything that is built for a target: its dependencies, and theirs.
    private func reach(of target: Target, in targets: [String: Target]) -> Set<String> {
        let byName = Dictionary(targets.values.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        var reached: Set<String> = []
        var rest = Array(target.dependencies)
        while let name = rest.popLast() {
            guard reached.insert(name).inserted else { continue }
            rest += byName[name]?.dependencies ?? []
        }
        return reached
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

    /// The fuzzer builds its modules by a list of its own.
    @Test func `the fuzzer builds each pure module after all that it imports`() throws {
        let script = try RepositoryTests.contents("Tests/Fuzz/fuzz")
        let list = try #require(script.firstMatch(of: /\nmodules=\(([^)]+)\)/)?.1)
        let order = list.split(separator: " ").map(String.init)
        let pure = Dictionary(
            try modules().filter { $0.floor == "Pure" }.map { ($0.name, Set($0.imports.map(\.module))) },
            uniquingKeysWith: { first, _ in first })
        #expect(order.count > 5)
        for (place, name) in order.enumerated() {
            for other in pure[name] ?? [] {
                #expect(order[..<place].contains(other), "\(name) imports \(other), which does not come before it")
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
        let targets = try targets()
        let modules = try modules()
        let known = Set(modules.map(\.name)).union(["ArgumentParser", "Logging"])
        for module in modules {
            guard let given = targets["Sources/\(module.floor)/\(module.name)"]?.dependencies else {
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
        let targets = try targets()
        let modules = try modules()
        let known = Set(modules.map(\.name)).union(["ArgumentParser", "Logging"])
        for module in modules where !module.imports.isEmpty {
            let imports = Set(module.imports.map(\.module))
            let given = targets["Sources/\(module.floor)/\(module.name)"]?.dependencies ?? []
            for name in given.intersection(known).subtracting(imports).sorted() {
                Issue.record("\(module.name) has the dependency \(name), which no file of it imports")
            }
        }
    }

    // MARK: Tests

    /// The floors whose modules are tested one to one.
    private static let testedFloors = ["Pure", "RealTime", "Shells", "Client", "Daemon"]

    /// Dependencies of tests of pure modules other than pure modules and TestSupport, with the reason.
    private static let widerTests: [String: Set<String>] = [
        // `btcall-lab gateway` is played against the dialogues.
        "HandsFreeTests": ["BTCallLab", "BluetoothSockets", "ControlLoop"],
        // Scenarios run in the same runner as for users.
        "RoutingTests": ["BTCallSimulator"],
    ]

    /// The test targets below these folders of `Tests`.
    private func testTargets(_ floors: [String]) throws -> [Target] {
        let targets = try targets()
        return try floors.flatMap { floor in
            try names(in: "Tests/\(floor)").map { try #require(targets["Tests/\(floor)/\($0)"], "\($0)") }
        }
    }

    @Test func `a folder of tests has the name of a module of its floor`() throws {
        for floor in Self.testedFloors {
            let modules = Set(try names(in: "Sources/\(floor)"))
            for name in try names(in: "Tests/\(floor)") {
                #expect(name.hasSuffix("Tests") && modules.contains(String(name.dropLast(5))), "Tests/\(floor)/\(name)")
            }
        }
    }

    @Test func `tests import only what the manifest gives their target directly`() throws {
        let targets = try targets()
        let known = Set(targets.values.map(\.name)).union(["ArgumentParser", "Logging"])
        for target in try testTargets(Self.testedFloors) {
            // A program that the tests start is a target in their folder.
            let inner = targets.keys.filter { $0.hasPrefix(target.path + "/") }
            for path in try Page.paths(withSuffix: ".swift", under: [target.path])
            where !inner.contains(where: { path.hasPrefix($0 + "/") }) {
                for module in try RepositoryTests.contents(path).split(separator: "\n").compactMap(Self.imported)
                where known.contains(module) {
                    #expect(target.dependencies.contains(module), "\(path) imports \(module)")
                }
            }
        }
    }

    @Test func `the tests of a room are built without the rooms after it`() throws {
        let targets = try targets()
        var count = 0
        for target in try testTargets(["Daemon"]) {
            let place = try #require(Self.rooms.firstIndex { $0 + "Tests" == target.name })
            let later = reach(of: target, in: targets).intersection(Self.rooms[(place + 1)...])
            #expect(later == [], "\(target.name)")
            count += 1
        }
        #expect(count > 5)
    }

    @Test func `the tests of a pure module have pure modules and TestSupport`() throws {
        let pure = Set(try names(in: "Sources/Pure"))
        for target in try testTargets(["Pure"]) {
            let others = target.dependencies.subtracting(pure).subtracting(["TestSupport"])
            #expect(others == Self.widerTests[target.name] ?? [], "\(target.name)")
        }
    }

    @Test func `nothing of video is in the daemon: btcall-video has it`() throws {
        let targets = try targets()
        let daemon = try #require(targets["Sources/Programs/btcalld"])
        let reached = reach(of: daemon, in: targets)
        #expect(reached.contains("HeadsetControl"))
        let video: Set = [
            "CPictures", "CVideo", "Cameras", "FrameRings", "Pictures", "VideoCapture", "VideoPlan",
        ]
        #expect(reached.isDisjoint(with: video))
    }

    @Test func `programs on the library link no machine of the daemon`() throws {
        let targets = try targets()
        let machines: Set = ["HandsFree", "HeadsetPolicy", "Routing", "Talk"]
        for name in ["IntercomExample", "btcall-baresip", "btcall-video", "btcall-web"] {
            let program = try #require(targets["Sources/Programs/\(name)"])
            let reached = reach(of: program, in: targets)
            #expect(reached.contains("BTCall"))
            #expect(reached.isDisjoint(with: machines), "\(name): \(reached.intersection(machines).sorted())")
        }
    }

    @Test func `GStreamer is in btcall-video only`() throws {
        let targets = try targets()
        for (path, target) in targets where path.hasPrefix("Sources/Programs/") {
            let hasGStreamer = reach(of: target, in: targets).contains("CPictures")
            #expect(hasGStreamer == (target.name == "btcall-video"), "\(target.name)")
        }
    }

    @Test func `nothing of HTTP is in the daemon: btcall-web speaks it`() throws {
        let paths = try ["Sources/Daemon", "Sources/Shells", "Sources/Programs/btcalld"].flatMap {
            try Page.paths(withSuffix: ".swift", under: [$0])
        }
        #expect(paths.count > 200)
        for path in paths {
            let text = try RepositoryTests.contents(path)
            for word in ["HTTP/1", "Content-Type", "AF_INET"] { #expect(!text.contains(word), "\(path): \(word)") }
        }
    }
}
