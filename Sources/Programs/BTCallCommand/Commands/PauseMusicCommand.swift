import ArgumentParser
import BTCall
import CommandKit
import ControlLoop
import DBus
import Glibc
import JSONText

struct PauseMusicCommand: ParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
        commandName: "pause-music",
        abstract: "Pause the music of your session while a headset carries a call, until interrupted.",
        discussion: """
            For a desktop whose music PipeWire plays to the headset. Before the audio of a call opens, btcalld has \
            this program pause the players of the session (MPRIS), disconnect PipeWire's other streams from headsets \
            and end PipeWire's stream to them. After the call it resumes the players that are still paused and connects \
            the streams again.

            It runs as the user of the session, who is a member of group btcall. The unit btcall-pause-music.service \
            starts it: systemctl --user enable --now btcall-pause-music.

            With --json it prints a line for each event: event, players, links.

            Example: btcall pause-music
            """)

    @OptionGroup var options: CommonOptions

    mutating func run() throws {
        let command = self
        var terminal = Output.terminal(options.color)
        terminal.reportsJSON = options.json
        let output = terminal
        let code = runOnControlLoop { await exitStatus(output) { try await command.follow(output) } }
        if code != 0 { throw ExitCode(code) }
    }

    @ControlPlane
    private func follow(_ output: Output) async throws {
        let text = options.bus.description
        let bus: BusConnection
        do throws(BusError) {
            bus = try BusConnection(BusAddress(text) ?? .address(text))
        } catch {
            throw CommandFailure("the bus of btcalld (\(text)) cannot be reached: \(error); start dbus, or use --bus")
        }
        defer { bus.close() }
        var session: BusConnection?
        do throws(BusError) {
            session = try BusConnection(.session)
        } catch {
            output.printError("\(error): only PipeWire's streams are paused; run it in the user's session")
        }
        defer { session?.close() }
        let isJSON = options.json
        let music = SessionMusic(bus: bus, players: session.map { SessionPlayers(bus: $0) }) { event in
            if isJSON { output.printLine(event) } else { output.print(Self.line(event)) }
        }
        let name = "\(SessionMusic.namePrefix)\(getuid())"
        do throws(BusError) {
            try await bus.requestName(name)
        } catch {
            throw CommandFailure(
                "\(name) is not available: \(error); it takes a member of group btcall (usermod -aG btcall USER, log in again) "
                    + "and one such program for each user")
        }
        if isJSON {
            output.printLine(["event": "ready", "name": .string(name)])
        } else {
            output.print("ready: \(name)")
        }
        await untilInterrupted()
        await music.stop()
        bus.flush()
    }

    @ControlPlane
    private func untilInterrupted() async {
        var signals: [SignalSource] = []
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            var waiting: CheckedContinuation<Void, Never>? = continuation
            for signal in [SIGINT, SIGTERM] {
                // Without a handler the signal ends the program, which pauses nothing then.
                let source = try? ControlLoop.shared.onSignal(signal) {
                    waiting?.resume()
                    waiting = nil
                }
                if let source { signals.append(source) }
            }
        }
        for signal in signals { signal.cancel() }
    }

    private static func line(_ event: JSON) -> String {
        let links = event["links"]?.integerValue ?? 0
        switch event["event"]?.stringValue {
        case "paused":
            let players = event["players"]?.integerValue ?? 0
            return "paused for a call: players: \(players), disconnected links of PipeWire: \(links)"
        case "resumed": return "resumed after the call: connected links of PipeWire: \(links)"
        default:
            return "pw-link or pw-cli is missing: only players with MPRIS are paused; install pipewire-bin"
        }
    }
}
