import AudioDSP
import AudioPaths
import BTCallAPI
import BluetoothTypes
package import ControlLoop
package import Diagnostics
import Glibc
import JSONText
package import Telephony

/// The file of call records: one line of JSON for each call that has ended (`[calls] record`).
///
/// The file is opened for each line, so that it can be moved away at any time. A line is a single appending write, so that
/// several writers do not mix. A failure raises a problem until writing works again; the calls are not affected.
@ControlPlane
package final class CallJournal {
    private static let problem = "record"
    private static let rotationProblem = "recordRotation"
    /// Number of rotated files kept: `FILE.1`, the latest, to `FILE.4`.
    package static let oldFiles = 4

    private let path: String
    private let withNumbers: Bool
    /// Maximum size of the file in bytes; nil: unlimited.
    private let limit: Int?
    private let problems: ProblemList
    /// Whether the last line was written only in part.
    private var isTorn = false

    /// - Parameters:
    ///   - path: absolute; created when it does not exist, but its directory is not.
    ///   - withNumbers: writes the other party's number and name.
    ///   - limitKiB: the size at which the file is renamed and a new one started; 0: never.
    package init(path: String, withNumbers: Bool, limitKiB: Int = 0, problems: ProblemList) {
        self.path = path
        self.withNumbers = withNumbers
        limit = limitKiB > 0 ? limitKiB * 1024 : nil
        self.problems = problems
    }

    package func write(_ record: CallRecord, _ reason: CallEndReason) {
        let line = Self.line(record, reason, ended: record.endedAt ?? .now, withNumbers: withNumbers)
        rotate(for: line.utf8.count + 1)
        do throws(FileRefusal) {
            try append((isTorn ? "\n" : "") + line + "\n")
            isTorn = false
            problems.end(Self.problem)
        } catch {
            problems.begin(
                Self.problem, what: "the record of a call is not written to \(path): \(error.problem)",
                remedy: "name a file in a directory that only btcalld may write to, or none ([calls] record)")
        }
    }

    /// Renames the full file, and the rotated ones, of which the oldest is overwritten. A file that cannot be renamed is
    /// written to beyond its limit, so that no line is lost.
    private func rotate(for bytes: Int) {
        guard let limit else { return }
        var status = stat()
        // A pipe or a device has no size.
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size > 0,
            Int(status.st_size) + bytes > limit
        else { return }
        for number in stride(from: Self.oldFiles - 1, through: 1, by: -1) {
            // Some of them may not exist yet.
            _ = rename("\(path).\(number)", "\(path).\(number + 1)")
        }
        guard rename(path, path + ".1") == 0 else {
            let error = SystemError("rename")
            return problems.begin(
                Self.rotationProblem, what: "the record of calls is full and cannot be rotated: \(path): \(error)",
                remedy: "let btcalld write to its directory, or rotate it by other means ([calls] recordKiB = 0)")
        }
        isTorn = false
        problems.end(Self.rotationProblem)
    }

    private func append(_ line: String) throws(FileRefusal) {
        // Opened without blocking: a pipe without a reader must not hold up the calls.
        let descriptor = try OwnFile.openToAppend(path)
        defer { close(descriptor) }
        let bytes = Array(line.utf8)
        while true {
            let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw FileRefusal(path: path, reason: .failed(SystemError("write"))) }
            // The rest would follow another writer's line.
            guard count == bytes.count else {
                isTorn = count > 0 || isTorn
                throw FileRefusal(path: path, reason: .failed(SystemError(call: "write", code: ENOSPC)))
            }
            return
        }
    }

    // MARK: The line

    /// The JSON of one call; an absent value is `null`, never a missing key.
    package static func line(
        _ record: CallRecord, _ reason: CallEndReason, ended: WallClock, withNumbers: Bool
    ) -> String {
        let description = record.description
        let answered = WallClock(milliseconds: Int64(clamping: description.startedAt))
        let stretches = record.history?.stretches.map { stretch($0, ended) } ?? []
        let total = record.history.flatMap { $0.isEmpty ? nil : quality($0.meter.total) }
        let line: JSON = [
            "call": .string(description.id),
            "provider": .string(description.provider),
            "direction": .string(description.direction.rawValue),
            "number": JSON(withNumbers ? description.number : nil),
            "name": JSON(withNumbers ? description.name : nil),
            "began": .string(record.appearedAt.iso8601),
            "answered": JSON(description.startedAt == 0 ? nil : answered.iso8601),
            "ended": .string(ended.iso8601),
            "reason": .string(reason.rawValue),
            "omittedStretches": JSON(record.history?.omittedStretches ?? 0),
            "stretches": .array(stretches),
            "quality": total ?? .null,
        ]
        return line.text()
    }

    private static func stretch(_ stretch: CallHistory.Stretch, _ callEnded: WallClock) -> JSON {
        [
            "device": .string(stretch.carrier.endpoint.description),
            "codec": JSON(stretch.carrier.codec?.description),
            "handle": JSON(stretch.carrier.handle),
            "packetBytes": JSON(stretch.carrier.codec == nil ? nil : stretch.carrier.packetBytes),
            "began": .string(stretch.began.iso8601),
            "ended": .string((stretch.ended ?? callEnded).iso8601),
            "quality": quality(stretch.quality),
        ]
    }

    private static func quality(_ quality: LinkQuality) -> JSON {
        let description = QualityDescription(quality)
        return [
            "score": JSON(description.score),
            "durationMs": JSON(description.durationMs),
            "packets": JSON(description.packets),
            "lost": JSON(description.lost),
            "concealedMs": JSON(description.concealedMs),
            "droppedMs": JSON(description.droppedMs),
            "gaps": JSON(description.gaps),
            "jitterMs": .number(description.jitterMs),
            "driftPPM": .number(description.driftPPM),
            "retries": JSON(description.retries),
            "xruns": JSON(description.xruns),
        ]
    }
}
