import CommandKit
import ControlLoop
import DBus
import Glibc
import JSONText

/// The music of one user's session as a player on btcalld's bus (MPRIS 2): btcalld pauses it before the audio of a call opens
/// on a headset, and resumes it afterwards, as any other player.
@ControlPlane
final class SessionMusic {
    static let path = "/org/mpris/MediaPlayer2"
    static let interface = "org.mpris.MediaPlayer2.Player"
    /// Of dbus/org.btcall.conf, which lets group btcall own such names.
    static let namePrefix = "org.mpris.MediaPlayer2.btcall.user"

    /// Runs a program of PipeWire, and returns its output; nil when it failed.
    typealias Tool = @ControlPlane ([String]) async throws(SystemError) -> String?

    private let players: SessionPlayers?
    private let tool: Tool
    private let report: @ControlPlane (JSON) -> Void
    private let bus: BusConnection
    private var isPaused = false
    /// The step that runs, or ran last; the next one waits for its end.
    private var step: Task<Void, Never>?
    private var streams = HeadsetStreams()
    private var hasTools = true

    /// - Parameters:
    ///   - bus: the one of btcalld.
    ///   - players: nil without a session bus.
    ///   - tool: throws `ENOENT` without that program.
    ///   - report: called with each event: `paused`, `resumed`, `noTools`.
    init(
        bus: BusConnection, players: SessionPlayers?, tool: @escaping Tool = SessionMusic.run,
        report: @escaping @ControlPlane (JSON) -> Void
    ) {
        self.bus = bus
        self.players = players
        self.tool = tool
        self.report = report
        bus.export(
            [
                ExportedInterface(
                    Self.interface,
                    methods: [
                        .init("Pause") { [weak self] _ throws(BusError) in
                            self?.set(isPaused: true)
                            return []
                        },
                        .init("Play") { [weak self] _ throws(BusError) in
                            self?.set(isPaused: false)
                            return []
                        },
                    ],
                    properties: [
                        .init("PlaybackStatus", "s") { [weak self] in
                            .string(self?.isPaused == true ? "Paused" : "Playing")
                        }
                    ])
            ], at: Self.path)
    }

    /// Resumes what is paused, and returns when that is done.
    func stop() async {
        set(isPaused: false)
        await step?.value
    }

    private func set(isPaused: Bool) {
        guard isPaused != self.isPaused else { return }
        self.isPaused = isPaused
        bus.propertiesChanged(path: Self.path, interface: Self.interface, ["PlaybackStatus"])
        let earlier = step
        step = Task { @ControlPlane in
            await earlier?.value
            if isPaused { await pause() } else { await resume() }
        }
    }

    // MARK: Steps

    /// Streams first: btcalld waits for the headset's stream to end.
    private func pause() async {
        streams = HeadsetStreams(linkList: await run(["pw-link", "--links", "--id"]) ?? "")
        await runAll(streams.links.map { ["pw-link", "--disconnect", "\($0.id)"] })
        // PipeWire would keep the headset's stream open for some seconds.
        await runAll(streams.headsets.map { ["pw-cli", "send-command", $0, "Suspend", "{}"] })
        let count = await players?.pause() ?? 0
        report(["event": "paused", "players": JSON(count), "links": JSON(streams.links.count)])
    }

    private func resume() async {
        // Players first: pw-link waits for the stream that it links to run.
        await players?.resume()
        // A stream or a headset that has gone meanwhile has no ports: the session manager links what is new.
        await runAll(streams.links.map { ["pw-link", "\($0.output)", "\($0.input)"] })
        let count = streams.links.count
        streams = HeadsetStreams()
        report(["event": "resumed", "links": JSON(count)])
    }

    /// Runs programs at the same time.
    private func runAll(_ commands: [[String]]) async {
        let runs = commands.map { words in Task { @ControlPlane in await run(words) } }
        for run in runs { _ = await run.value }
    }

    /// - Returns: the output; nil when the program fails or is missing.
    private func run(_ words: [String]) async -> String? {
        guard hasTools else { return nil }
        do throws(SystemError) {
            return try await tool(words)
        } catch {
            hasTools = error.code != ENOENT
            if !hasTools { report(["event": "noTools"]) }
            return nil
        }
    }

    /// Runs a program on PATH, for 2 s at most.
    static func run(_ words: [String]) async throws(SystemError) -> String? {
        let end = try await ControlLoop.shared.run(words, within: .seconds(2), keeping: 1 << 20)
        return end.status == 0 ? end.output : nil
    }
}
