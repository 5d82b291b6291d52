import BluetoothTypes
import Configuration
import HandsFree

/// A quirks file: rows, or an error; the rows are then matched against headsets.
enum QuirksTarget {
    static func run(_ input: [UInt8]) throws(BrokenRule) {
        guard let shipped = try read(input, .shipped), let overlay = try read(input, .admin) else { return }
        let database = shipped.overlaid(by: overlay)
        try require(database.rows.count <= 2 * QuirksDatabase.mostRows, "\(database.rows.count) rows")
        guard let today = CalendarDate("2026-11-21") else { throw BrokenRule("there is no such day") }
        for subject in subjects {
            let explanation = database.explain(subject, on: today)
            try require(
                Set(explanation.applied.map(\.row.name)).isDisjoint(with: explanation.near.map(\.row.name)),
                "a row applies or does not")
            try require(
                explanation.applied.allSatisfy { $0.obstacles.isEmpty && $0.reasons.count == $0.row.conditions.count },
                "a row applies when all of its conditions hold")
        }
    }

    private static func read(_ input: [UInt8], _ origin: QuirkRow.Origin) throws(BrokenRule) -> QuirksDatabase? {
        do throws(ConfigurationError) {
            return try QuirksDatabase(parsing: input, file: "fuzz", origin: origin)
        } catch {
            try require(!error.problem.isEmpty && !error.accepted.isEmpty, "a refusal says why: \(error)")
            let lines = input.count { $0 == UInt8(ascii: "\n") } + 1
            try require(error.line.map { (1...lines).contains($0) } ?? true, "\(error) of \(lines) lines")
            return nil
        }
    }

    private static let subjects: [QuirkSubject] = {
        guard let address = BluetoothAddress("00:1B:66:01:02:03") else { return [] }
        return [
            QuirkSubject(address: address),
            QuirkSubject(
                address: address, name: "Car Kit", modalias: "bluetooth:v004Cp2002d6DF1",
                controller: QuirkSubject.Controller(
                    name: "hci0", modalias: "usb:v0A12p0001d8891", driver: "btusb", manufacturer: 10,
                    alternateSettings: [1, 2, 3, 4, 5]),
                kernel: "6.1.0-18-arm64"),
        ]
    }()
}
