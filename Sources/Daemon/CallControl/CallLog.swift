import AudioPaths
package import BTCallAPI
import BluetoothTypes
package import Configuration
package import ControlLoop
package import Diagnostics
package import Logging
package import Telephony

/// The latest ended calls and the refused ones: `Calls1.Log`.
///
/// Kept in memory. With a record of calls (`[calls] record`) it is also kept over restarts, without numbers and names unless
/// `recordNumbers` is on.
@ControlPlane
package final class CallLog {
    /// The most entries kept; the oldest are dropped.
    package static let maximumEntries = 100
    private static let problem = "callLog"

    /// The oldest first.
    private var kept: [CallLogDescription] = []
    private let file: CallLogFile?
    private let withNumbers: Bool
    private let writer: StateWriter
    private let problems: ProblemList

    /// - Parameters:
    ///   - file: nil keeps nothing over a restart.
    ///   - withNumbers: whether the file has the other party's number and name.
    package init(
        file: CallLogFile?, withNumbers: Bool, writer: StateWriter, problems: ProblemList, logger: Logger
    ) {
        self.file = file
        self.writer = writer
        self.withNumbers = withNumbers
        self.problems = problems
        guard let file else { return }
        do throws(FileRefusal) {
            let (entries, broken) = try file.load()
            kept = Array(entries.suffix(Self.maximumEntries))
            if broken > 0 { logger.warning("\(file.file.path): \(broken) lines are not understood and left out") }
        } catch {
            logger.warning("a new log of calls is started: \(file.file.path) \(error.what)")
        }
    }

    /// The latest first.
    ///
    /// - Parameter maximum: the most entries returned; 0: all.
    package func entries(_ maximum: Int) -> [CallLogDescription] {
        Array(kept.reversed().prefix(maximum == 0 ? Self.maximumEntries : maximum))
    }

    package func add(_ record: CallRecord, _ reason: CallEndReason) {
        let description = record.description
        let began = record.appearedAt.milliseconds
        let answered = description.startedAt == 0 ? nil : Int64(clamping: description.startedAt)
        add(
            CallLogDescription(
                id: description.id, direction: description.direction, number: description.number,
                name: description.name, provider: description.provider, began: began, answered: answered,
                // The clock may have been set back meanwhile.
                ended: max((record.endedAt ?? .now).milliseconds, began, answered ?? 0), reason: reason.rawValue,
                device: record.history?.stretches.last?.carrier.endpoint.description))
    }

    package func add(_ call: RefusedCall) {
        let time = call.at.milliseconds
        add(
            CallLogDescription(
                id: nil, direction: .incoming, number: call.details.number, name: call.details.name,
                provider: call.provider, began: time, answered: nil, ended: time, reason: call.reason.rawValue,
                device: nil))
    }

    private func add(_ entry: CallLogDescription) {
        kept.append(entry)
        if kept.count > Self.maximumEntries { kept.removeFirst(kept.count - Self.maximumEntries) }
        guard let file = file?.file else { return }
        let text = CallLogFile.text(withNumbers ? kept : kept.map { $0.withoutParty })
        writer.write(text, to: file) { [problems] error in
            guard let error else { return problems.end(Self.problem) }
            problems.begin(
                Self.problem, what: "the log of calls is not kept in \(file.path): \(error)",
                remedy: "make the directory writable for the daemon's user ([daemon] stateDirectory)")
        }
    }
}

extension CallLogDescription {
    fileprivate var withoutParty: CallLogDescription {
        var entry = self
        entry.number = nil
        entry.name = nil
        return entry
    }
}
