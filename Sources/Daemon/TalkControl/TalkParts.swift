package import AudioPaths
package import BoardControl
package import CallControl
package import Configuration
package import ControlLoop
package import DBus
package import Diagnostics
package import HeadsetControl
package import Logging
import Talk

/// Push to talk: the floors of the calls, and the keys of the board, of headsets and of programs.
@ControlPlane
package final class TalkParts {
    package let control: TalkControl
    package let programs: ProgramTalkKeys
    private let board: BoardButton?
    private let headsetKeys: HeadsetTalkKeys
    private let links: TalkLinks
    package let teacher: TalkTeacher
    private let devices: TalkDevices

    /// - Parameter board: nil: a board without keys.
    package init(
        settings: Settings, bus: BusConnection, board: (any BoardOpening)?, audio: AudioParts, calls: CallParts,
        headsets: HeadsetParts, router: any RouteDeciding, problems: ProblemList, logger: Logger
    ) {
        control = TalkControl(
            settings: settings, calls: calls.directory, graph: audio.graph, problems: problems, logger: logger)
        let keys = control.keys
        programs = ProgramTalkKeys(bus: bus, keys: keys)
        headsetKeys = HeadsetTalkKeys(headsets: headsets.directory, graph: audio.graph, keys: keys)
        links = TalkLinks(
            settings: settings, control: control, headsets: headsets.directory, router: router, logger: logger)
        devices = TalkDevices(
            bus: bus, registry: headsets.registry, talk: headsets.directory.talk, keys: keys,
            pause: settings.configuration.timeouts.talkDevice, logger: logger)
        teacher = TalkTeacher(
            registry: headsets.registry, talk: headsets.directory.talk, devices: devices, logger: logger)
        self.board = board.flatMap { source in
            settings.configuration.talk.key.map {
                Self.key($0, source, keys, problems, logger)
            }
        }
    }

    /// The talk key of the board (`[talk] key`).
    private static func key(
        _ specification: HookSpecification, _ source: any BoardOpening, _ keys: TalkKeys, _ problems: ProblemList,
        _ logger: Logger
    ) -> BoardButton {
        let button = BoardButton(
            specification, name: "talk key", problem: "talk.key", source: source, problems: problems, logger: logger)
        let key = TalkKeyID(.board, specification.description)
        // A key that is down already has to be pressed again.
        button.onOpened = { keys.add(key) }
        button.onChange = { keys.signal($0 ? .pressed : .released, from: key) }
        button.onGone = { keys.remove(key) }
        return button
    }

    package func start() {
        board?.start()
        devices.start()
    }

    package func stop() async {
        board?.stop()
        teacher.stop()
        await devices.stop()
        control.stop()
    }
}
