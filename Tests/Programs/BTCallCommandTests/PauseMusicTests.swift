import CommandTestSupport
import ControlLoop
import DBus
import Glibc
import JSONText
import TestSupport
import Testing

@testable import BTCallCommand

@Suite(.timeLimit(.minutes(1))) @ControlPlane struct PauseMusicTests {
    /// Output of pw-link of PipeWire 1.4.2: two players on a headset, one on a loudspeaker.
    private static let linkList = """
          44 bluez_output.00_1B_DC_08_00_11.1:playback_FL
          56   |<-   54 pw-cat:output_FL
          58   |<-   70 |<- odd: name:output_FL
          46 bluez_output.00_1B_DC_08_00_11.1:playback_FR
          57   |<-   55 pw-cat:output_FR
          47 bluez_output.00_1B_DC_08_00_11.1:monitor_FL
          48   |->   90 recorder:input_FL
          60 alsa_output.pci:playback_FL
          61   |<-   62 mpv:output_FL
          54 pw-cat:output_FL
          56   |->   44 bluez_output.00_1B_DC_08_00_11.1:playback_FL
        """

    @Test func `The streams to headsets are read from the list of links`() {
        let streams = HeadsetStreams(linkList: Self.linkList)
        #expect(
            streams.links == [
                .init(id: 56, output: 54, input: 44), .init(id: 58, output: 70, input: 44),
                .init(id: 57, output: 55, input: 46),
            ])
        #expect(streams.headsets == ["bluez_output.00_1B_DC_08_00_11.1"])
        for text in ["", "\n", "44", "44 bluez_output.X:playback_FL\n x |<- 5 y\n 5 |<-\n", "|<- 5"] {
            #expect(HeadsetStreams(linkList: text).links == [])
        }
    }

    /// Counts what it is told, as a player of the session.
    @ControlPlane private final class Player {
        private(set) var commands: [String] = []
        var status = "Playing"
        let bus: BusConnection

        init(_ address: BusAddress, _ name: String) async throws {
            bus = try BusConnection(address)
            let methods: [ExportedInterface.Method] = ["Pause", "Play"].map { command in
                .init(command) { [weak self] _ throws(BusError) in
                    self?.commands.append(command)
                    self?.status = command == "Pause" ? "Paused" : "Playing"
                    return []
                }
            }
            let property = ExportedInterface.Property("PlaybackStatus", "s") { [weak self] in
                .string(self?.status ?? "")
            }
            bus.export(
                [ExportedInterface(SessionMusic.interface, methods: methods, properties: [property])],
                at: SessionMusic.path)
            try await bus.requestName("org.mpris.MediaPlayer2.\(name)")
        }
    }

    /// A helper on a private bus, which is system and session bus at once.
    @ControlPlane private final class Fixture {
        let daemon: PrivateBus
        let bus: BusConnection
        let client: BusConnection
        var runs: [String] = []
        var events: [JSON] = []
        private(set) var music: SessionMusic?

        init(hasTools: Bool = true) async throws {
            daemon = try PrivateBus()
            let address = BusAddress.address(daemon.address)
            bus = try BusConnection(address)
            client = try BusConnection(address)
            let tool: SessionMusic.Tool = { [weak self] words throws(SystemError) in
                guard hasTools else { throw SystemError(call: "posix_spawn", code: ENOENT) }
                self?.runs.append(words.joined(separator: " "))
                return words.contains("--links") ? PauseMusicTests.linkList : ""
            }
            music = SessionMusic(bus: bus, players: SessionPlayers(bus: bus), tool: tool) { [weak self] event in
                self?.events.append(event)
            }
        }

        func tell(_ member: String) async throws {
            _ = try await client.call(bus.uniqueName ?? "", SessionMusic.path, SessionMusic.interface, member)
        }

        func status() async throws -> String? {
            let answer = try await client.call(
                bus.uniqueName ?? "", SessionMusic.path, "org.freedesktop.DBus.Properties", "Get",
                [.string(SessionMusic.interface), "PlaybackStatus"])
            return answer.first?.unwrapped.stringValue
        }

        func waitForEvents(_ count: Int) async throws {
            try await eventually("event \(count) is told") { events.count >= count }
        }
    }

    @Test func `A call pauses streams and players, and afterwards they come back`() async throws {
        let fixture = try await Fixture()
        let address = BusAddress.address(fixture.daemon.address)
        let playing = try await Player(address, "playing")
        let silent = try await Player(address, "silent")
        silent.status = "Paused"
        let touched = try await Player(address, "touched")
        #expect(try await fixture.status() == "Playing")
        try await fixture.tell("Pause")
        #expect(try await fixture.status() == "Paused")
        try await fixture.waitForEvents(1)
        #expect(
            fixture.runs == [
                "pw-link --links --id", "pw-link --disconnect 56", "pw-link --disconnect 58",
                "pw-link --disconnect 57", "pw-cli send-command bluez_output.00_1B_DC_08_00_11.1 Suspend {}",
            ])
        #expect(fixture.events == [["event": "paused", "players": 2, "links": 3]])
        #expect(playing.commands == ["Pause"])
        #expect(silent.commands == [])
        // Its owner stops it meanwhile.
        touched.status = "Stopped"
        fixture.runs = []
        try await fixture.tell("Play")
        try await fixture.waitForEvents(2)
        #expect(fixture.runs == ["pw-link 54 44", "pw-link 70 44", "pw-link 55 46"])
        #expect(fixture.events.last == ["event": "resumed", "links": 3])
        #expect(playing.commands == ["Pause", "Play"])
        #expect(touched.commands == ["Pause"])
        #expect(silent.commands == [])
    }

    @Test func `Orders that follow each other at once are carried out one after the other, and the end resumes`()
        async throws
    {
        let fixture = try await Fixture()
        let player = try await Player(.address(fixture.daemon.address), "playing")
        for member in ["Pause", "Pause", "Play", "Pause"] { try await fixture.tell(member) }
        await fixture.music?.stop()
        #expect(fixture.events.compactMap { $0["event"]?.stringValue } == ["paused", "resumed", "paused", "resumed"])
        #expect(player.commands == ["Pause", "Play", "Pause", "Play"])
    }

    @Test func `Without PipeWire's programs the players are paused, and that is said once`() async throws {
        let fixture = try await Fixture(hasTools: false)
        let player = try await Player(.address(fixture.daemon.address), "playing")
        try await fixture.tell("Pause")
        try await fixture.tell("Play")
        try await fixture.waitForEvents(3)
        #expect(fixture.events.compactMap { $0["event"]?.stringValue } == ["noTools", "paused", "resumed"])
        #expect(player.commands == ["Pause", "Play"])
    }
}
