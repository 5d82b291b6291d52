import Foundation
import Testing

/// Runs every kept input again, those that once broke a rule one by one.
@Suite struct FuzzTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()

    /// A file of `corpus` or `crashes`: the target's name and the path within the folder.
    struct Input: Sendable, CustomTestStringConvertible {
        let target: String
        let path: String

        var testDescription: String { path }

        func run() throws {
            let target = try #require(FuzzTarget.all.first { $0.name == self.target }, "\(path) belongs to no target")
            let bytes = try Data(contentsOf: FuzzTests.folder.appending(path: path))
            try target.run(Array(bytes))
        }
    }

    static func inputs(_ kind: String) -> [Input] {
        let paths = (try? FileManager.default.subpathsOfDirectory(atPath: folder.appending(path: kind).path)) ?? []
        return paths.sorted().compactMap { path in
            let parts = path.split(separator: "/")
            return parts.count == 2 ? Input(target: String(parts[0]), path: "\(kind)/\(path)") : nil
        }
    }

    @Test(arguments: inputs("crashes"))
    func `an input that broke a rule once breaks none any more`(_ input: Input) {
        #expect(throws: Never.self) { try input.run() }
    }

    @Test(arguments: FuzzTarget.all.map(\.name))
    func `the kept inputs break no rule`(_ target: String) {
        let inputs = Self.inputs("corpus").filter { $0.target == target }
        #expect(inputs.count >= 20)
        for input in inputs { #expect(throws: Never.self, "\(input.path)") { try input.run() } }
    }

    @Test func `the kept inputs are few and small`() throws {
        let inputs = Self.inputs("corpus") + Self.inputs("crashes")
        let sizes = try inputs.map { try Data(contentsOf: Self.folder.appending(path: $0.path)).count }
        #expect(inputs.count < 75 * FuzzTarget.all.count)
        #expect(sizes.reduce(0, +) < 200_000)
    }

    @Test func `a broken rule is thrown`() {
        #expect(throws: BrokenRule.self) { try FuzzTarget.canary.run(Array("rule".utf8)) }
    }

    /// libFuzzer gives up when a line is neither a comment nor a quoted token.
    @Test(arguments: ["at", "baresip", "json", "quirks", "talk"])
    func `every dictionary has valid lines`(_ name: String) throws {
        let text = try String(contentsOf: Self.folder.appending(path: "\(name).dict"), encoding: .utf8)
        let lines = text.split(separator: "\n").filter { !$0.hasPrefix("#") }
        #expect(lines.count > 30)
        for line in lines {
            let token = line.dropFirst().dropLast()
            #expect(line.hasPrefix("\"") && line.hasSuffix("\"") && !token.isEmpty, "\(line)")
            let isText = token.allSatisfy { $0.isASCII }
            #expect(isText, "\(line)")
        }
        #expect(Set(lines).count == lines.count)
    }
}
