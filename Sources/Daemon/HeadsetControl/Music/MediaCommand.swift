package import BluetoothTypes
package import ControlLoop
package import Diagnostics
package import Logging

/// Runs the program that suspends and restores a headset's music where no bus call can (`[bluetooth] mediaCommand`): as
/// `PROGRAM suspend ADDRESS` and `PROGRAM restore ADDRESS`.
@ControlPlane
package final class MediaCommand {
    private struct Headset {
        var isWanted: Bool
        var isSuspended = false
        /// Runs the program, and again if the wanted state has changed by then.
        var work: Task<Void, Never>?
    }

    private let program: String?
    private let limit: Duration
    private let problems: ProblemList
    private let logger: Logger
    /// Headsets whose music is suspended, or is being suspended or restored.
    private var headsets: [BluetoothAddress: Headset] = [:]
    package var headsetCount: Int { headsets.count }

    /// - Parameters:
    ///   - program: nil does nothing.
    ///   - limit: time after which it is killed.
    package init(_ program: String?, limit: Duration, problems: ProblemList, logger: Logger) {
        self.program = program
        self.limit = limit
        self.problems = problems
        self.logger = logger
    }

    /// Sets the wanted state. The program runs once at a time for a headset; a request that was reversed before it ran is
    /// dropped.
    package func set(_ address: BluetoothAddress, isSuspended: Bool) {
        guard program != nil else { return }
        headsets[address, default: Headset(isWanted: isSuspended)].isWanted = isSuspended
        step(address)
    }

    /// Returns when the program has ended for all headsets.
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
            "mediaCommand", what: "the music program did not \(verb) the music of \(address): \(failure)",
            remedy:
                "run `\(program) \(verb) \(address)` by hand as the user of btcalld, or take out [bluetooth] mediaCommand"
        )
    }
}
