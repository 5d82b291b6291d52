import Foundation
import TestSupport
import Testing

/// The page about faults lists exactly the faults of the lab's scripts.
@Suite struct FaultPageTests {
    private static func names() throws -> [String] {
        try ["95-faults-bluetooth", "96-faults-machine"].flatMap { script in
            try RepositoryTests.contents("Tests/Lab/scripts/\(script).sh").split(separator: "\n")
                .filter { $0.hasPrefix("begin_fault ") }.map { String($0.split(separator: " ")[1]) }
        }
    }

    private static func rows() throws -> [[String]] {
        try RepositoryTests.contents("docs/operate/Faults.md").split(separator: "\n")
            .filter { $0.hasPrefix("| `") }
            .map { line in
                line.replacing("\\|", with: "/").split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            }
    }

    @Test func `Every fault of the scripts has its row, in their order`() throws {
        let names = try Self.names()
        #expect(names.count >= 18)
        #expect(Set(names).count == names.count)
        #expect(try Self.rows().map { $0[0].replacing("`", with: "") } == names)
    }

    @Test func `No fault ends the call, but the death of its application`() throws {
        for row in try Self.rows() {
            #expect(row.count == 8, "\(row)")
            guard row.count == 8 else { continue }
            let isOwners = row[0] == "`provider-killed`"
            #expect(isOwners ? row[6] == "ends, providerGone" : row[6].hasPrefix("goes on"), "\(row[0])")
        }
    }

    @Test func `The table is made of the scripts' faults by its tool, which finds no difference`() throws {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["python3", RepositoryTests.root.appending(path: "Tests/Lab/fault-table").path, "--check"]
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0, "\(String(decoding: output, as: UTF8.self))")
    }
}
