package import BlueZ
package import BluetoothTypes
package import Configuration
package import ControlLoop
package import Diagnostics
package import Logging
package import Talk

/// The rows about the talk keys of devices (shipped, the administrator's and learnt), and the state of each key.
@ControlPlane
package final class HeadsetTalk {
    /// Rows were learnt or forgotten.
    package let changes = Signal<Void>()
    package private(set) var rows: TalkRows
    /// Whether a key is pressed, of devices that have shown one.
    package var isPressed: [BluetoothAddress: Bool] = [:]
    /// What a headset says on its AT connection and does with its link, for a lesson.
    package let heard = Signal<(BluetoothAddress, TalkLesson.Observation)>()
    /// How long the last first word waited for a link that the press opened.
    package var delays: [BluetoothAddress: Duration] = [:]
    private static let problem = "talkKeys"

    private let registry: DeviceRegistry
    private let file: StateFile?
    private let writer: StateWriter
    private let problems: ProblemList
    private let logger: Logger

    package init(
        _ configuration: Configuration, registry: DeviceRegistry, writer: StateWriter, problems: ProblemList,
        logger: Logger
    ) {
        self.registry = registry
        self.writer = writer
        self.problems = problems
        self.logger = logger
        file = configuration.stateDirectory.map { StateFile(TalkRows.learntName, in: $0) }
        rows = configuration.talkRows
        guard let directory = configuration.stateDirectory else { return }
        do throws(ConfigurationError) {
            rows = rows.overlaid(by: try TalkRows.learnt(in: directory))
        } catch {
            logger.error("learnt talk keys are not restored, `btcall talk learn` learns them again: \(error)")
        }
    }

    /// The row about a device; nil: no row is for it.
    package func row(of address: BluetoothAddress) -> TalkRow? { rows.row(for: subject(address)) }

    package func subject(_ address: BluetoothAddress) -> TalkSubject {
        let device = registry.device(address)
        return TalkSubject(
            address: address, name: device?.announcedName,
            modalias: device.flatMap { $0.modalias.isEmpty ? nil : $0.modalias }, services: Set(device?.uuids ?? []))
    }

    /// Keeps a learnt row; it counts before all others.
    package func learn(_ row: TalkRow) { replace(rows.learning(row)) }

    /// - Returns: false: no learnt row has this name.
    package func forget(_ name: String) -> Bool {
        guard let rest = rows.forgetting(name) else { return false }
        replace(rest)
        return true
    }

    private func replace(_ new: TalkRows) {
        rows = new
        if let file {
            writer.write(rows.learntText, to: file) { [problems] error in
                guard let error else { return problems.end(Self.problem) }
                problems.begin(
                    Self.problem, what: "learnt talk keys are not saved: cannot keep \(file.path): \(error)",
                    remedy: "make the directory writable for the daemon's user (StateDirectory=btcall in the unit does)"
                )
            }
        }
        changes.send()
    }
}
