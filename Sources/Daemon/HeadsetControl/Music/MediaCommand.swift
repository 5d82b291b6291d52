package import BluetoothTypes
package import ControlLoop
package import Diagnostics
package import Logging

/// The program that suspends and restores the music of a headset in place of what cannot be asked on the bus
/// (`[bluetooth] mediaCommand`): run as `PROGRAM suspend ADDRESS` and `PROGRAM restore ADDRESS`.
@ControlPlane
package final class MediaCommand {
    private struct Headset {
        var isWanted: Bool
        var isSuspended = false
        /// What runs the program and then does what is wanted by that time.
        var work: Task<Void, Never>?
    }

    private let program: String?
    private let limit: Duration
    private let problems: ProblemList
    private let logger: Logger
    /// Those whose music is suspended, or about to be, or to be restored.
    private var headsets: [BluetoothAddress: Headset] = [:]
    package var headsetCount: Int { headsets.count }

    /// - Parameters:
    ///   - program: nil does nothing.
    ///   - limit: after which it is killed.
    package init(_ program: String?, limit: Duration, problems: ProblemList, logger: Logger) {
        self.program = program
        self.limit = limit
        self.problems = problems
        self.logger = logger
    }

    /// It runs once at a time for a headset; what was taken back before it ran is not done.
    package func set(_ address: BluetoothAddress, isSuspended: Bool) {
        guard program != nil else { return }
        headsets[address, default: Headset(isWanted: isSuspended)].isWanted = isSuspended
        step(address)
    }

    /// Returns when nothing runs any more.
    package func finish() async {
        while let work = headsets.values.lazy.compactMap(\.work).first { await work.value }
    }

    private func step(_ address: BluetoothAddress) {
        guard let program, let headset = headsets[address], headset.work == nil else { return }
        guard headset.isWanted != headset.isSuspended else {
            if !headset.isWanted { headsets[address] = nil }
            return
        }
        headsets[address]?.isSuspended = headset.isWanted
        headsets[address]?.work = Task { @ControlPlane in
            await run(program, headset.isWanted ? "suspend" : "restore", address)
            headsets[address]?.work = nil
            step(address)
        }
    }

    private func run(_ program: String, _ verb: String, _ address: BluetoothAddress) async {
        let failure: String
        do throws(SystemError) {
            let report = try await ControlLoop.shared.run(
                [program, verb, "\(address)"], within: limit, keeping: 1000)
            guard report.wasKilled || report.status != 0 else {
                logger.info("\(program) \(verb) \(address): done")
                problems.end("mediaCommand")
                return
            }
            let line = report.output.split(whereSeparator: \.isNewline).last.map { ": \($0)" } ?? ""
            failure = report.wasKilled ? "it did not end within \(limit)" : "status \(report.status)\(line)"
        } catch {
            failure = "\(error)"
        }
        problems.begin(
            "mediaCommand", what: "the program for music did not \(verb) that of \(address): \(failure)",
            remedy:
                "run `\(program) \(verb) \(address)` by hand as the user of btcalld, or take out [bluetooth] mediaCommand"
        )
    }
}
