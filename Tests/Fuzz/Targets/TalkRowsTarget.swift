import BluetoothTypes
import Configuration
import HandsFree
import Talk

/// A file of talk keys: rows, or an error; the rows are written, read again and matched against devices.
enum TalkRowsTarget {
    static func run(_ input: [UInt8]) throws(BrokenRule) {
        guard let shipped = try read(input, .shipped), let learnt = try read(input, .learnt) else { return }
        try require(shipped.rows.count <= TalkRows.mostRows, "\(shipped.rows.count) rows")
        let rows = shipped.overlaid(by: learnt)
        for subject in subjects {
            let row = rows.row(for: subject)
            try require(
                row.map { $0.reasons(for: subject)?.count == $0.conditions.count } ?? true, "all conditions hold")
        }
        guard let again = try read(Array(learnt.learntText.utf8), .learnt) else {
            throw BrokenRule("written rows are refused: \(learnt.learntText)")
        }
        try require(again.learntText == learnt.learntText, "rows stay the same: \(learnt.learntText)")
        try require(again.rows.map(\.reading) == learnt.rows.map(\.reading), "readings stay the same")
        for row in learnt.rows { try require(row.isAlternating == noRelease(row), "alternating without a release") }
    }

    private static func noRelease(_ row: TalkRow) -> Bool {
        switch row.reading {
        case .at(_, let release): release.isEmpty
        case .serial(_, _, let release), .notification(_, _, _, let release): release.isEmpty
        case .link: false
        }
    }

    private static func read(_ input: [UInt8], _ origin: TalkRow.Origin) throws(BrokenRule) -> TalkRows? {
        do throws(ConfigurationError) {
            return try TalkRows(parsing: input, file: "fuzz", origin: origin)
        } catch {
            try require(!error.problem.isEmpty && !error.accepted.isEmpty, "a refusal says why: \(error)")
            let lines = input.count { $0 == UInt8(ascii: "\n") } + 1
            try require(error.line.map { (1...lines).contains($0) } ?? true, "\(error) of \(lines) lines")
            return nil
        }
    }

    private static let subjects: [TalkSubject] = {
        guard let address = BluetoothAddress("00:1B:66:01:02:03") else { return [] }
        return [
            TalkSubject(address: address),
            TalkSubject(
                address: address, name: "PTT-Z01", modalias: "bluetooth:v004Cp2002d6DF1",
                services: [.serialPort, ServiceUUID(short: 0xFFE0)]),
        ]
    }()
}
