package import BTCallAPI
package import Configuration
package import ControlLoop

/// The file of the call log in the state directory: `calls.log`, one line for each call, the oldest first.
///
/// A line has ten fields separated by tabs; in a field, bytes up to the space, `%` and DEL are written as `%XX`. Other lines
/// are skipped.
package struct CallLogFile: Sendable {
    /// Accepted times, in milliseconds since 1970, up to the year 4199.
    private static let times: ClosedRange<Int64> = 0...1 << 46
    /// Longest field in bytes: names on the bus have at most 255.
    private static let longestField = 255
    package let file: StateFile

    /// - Parameter directory: absolute; created when it does not exist.
    package init(directory: String) {
        file = StateFile("calls.log", in: directory)
    }

    /// - Returns: the entries of the file, and the number of invalid lines.
    package func load() throws(FileRefusal) -> (entries: [CallLogDescription], broken: Int) {
        guard file.exists else { return ([], 0) }
        var entries: [CallLogDescription] = []
        var broken = 0
        for line in try file.read().split(separator: UInt8(ascii: "\n")) {
            if let entry = Self.entry(line) { entries.append(entry) } else { broken += 1 }
        }
        return (entries, broken)
    }

    package static func text(_ entries: [CallLogDescription]) -> String { entries.map { line($0) }.joined() }

    // MARK: The line

    private static func line(_ entry: CallLogDescription) -> String {
        let fields = [
            String(entry.began), entry.answered.map { String($0) } ?? "", String(entry.ended),
            entry.direction.rawValue, entry.reason, entry.provider, entry.device ?? "", entry.id ?? "",
            entry.number ?? "", entry.name ?? "",
        ]
        return fields.map(escaped).joined(separator: "\t") + "\n"
    }

    /// Nil for an invalid line.
    private static func entry(_ line: ArraySlice<UInt8>) -> CallLogDescription? {
        let fields = line.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false).map(unescaped)
        guard fields.count == 10, fields.allSatisfy(isAccepted), let began = time(fields[0]),
            let ended = time(fields[2]), ended >= began,
            let direction = CallDescription.Direction(rawValue: fields[3]), !fields[4].isEmpty
        else { return nil }
        // The clock may have been set back between the beginning and the answer.
        let answered = time(fields[1])
        guard answered != nil || fields[1].isEmpty, answered ?? ended <= ended else { return nil }
        return CallLogDescription(
            id: fields[7].nonEmpty, direction: direction, number: fields[8].nonEmpty, name: fields[9].nonEmpty,
            provider: fields[5], began: began, answered: answered, ended: ended, reason: fields[4],
            device: fields[6].nonEmpty)
    }

    private static func time(_ field: String) -> Int64? { Int64(field).flatMap { times.contains($0) ? $0 : nil } }

    /// Whether the bus can carry the text: D-Bus strings have no NUL.
    private static func isAccepted(_ field: String) -> Bool {
        field.utf8.count <= longestField && !field.utf8.contains(0)
    }

    private static func escaped(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            guard byte <= 0x20 || byte == 0x7F || byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func unescaped(_ field: ArraySlice<UInt8>) -> String {
        var bytes: [UInt8] = []
        var rest = field
        while let byte = rest.popFirst() {
            let pair = String(decoding: rest.prefix(2), as: UTF8.self)
            if byte == UInt8(ascii: "%"), pair.utf8.count == 2, let value = UInt8(pair, radix: 16) {
                bytes.append(value)
                rest.removeFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
