import Foundation
import Testing

@testable import BTCallCommand

/// The page of all checks and the checks.
@Suite struct DoctorPageTests {
    @Test func `the page of btcall doctor has the rows of all checks, of the machine and of a call`() throws {
        let page = try RepositoryTests.contents("docs/operate/Doctor.md")
        let rows = page.split(separator: "\n").filter { $0.hasPrefix("| `") }.map { String($0) }
        let checks = DoctorCheck.all.map { ($0.id, $0.severity, $0.finds, $0.remedy, $0.command) }
        let calls = CallCheck.all.map { ($0.id, $0.severity, $0.finds, $0.remedy, $0.command) }
        let expected = (checks + calls).map { id, severity, finds, remedy, command in
            let code = command.map { "`\($0.replacing("|", with: "\\|"))`" } ?? ""
            return "| `\(id)` | \(severity.rawValue) | \(finds) | \(remedy) | \(code) |".replacing("  |", with: " |")
        }
        for (row, wanted) in zip(rows, expected) { #expect(row == wanted) }
        #expect(rows.count == expected.count)
        #expect(page.contains("\(DoctorCheck.all.count) checks"))
    }
}
