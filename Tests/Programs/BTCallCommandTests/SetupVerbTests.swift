import ArgumentParser
import BTCallDaemon
import CommandKit
import Configuration
import Foundation
import Routing
import Testing

@testable import BTCallCommand

/// A directory that looks like the root of a board, for runs of `btcall setup`.
private final class FakeBoard {
    let root = FileManager.default.temporaryDirectory.appending(path: "btcall-board-\(UUID().uuidString)")
    var output: URL { root.appending(path: "btcalld.conf") }

    /// - Parameter cards: short name, long name, whether it is USB, and its devices: each `p`, `c` or `pc`.
    init(model: String?, _ cards: [(identifier: String, name: String, isUSB: Bool, devices: [String])]) throws {
        try make("proc/asound", nil)
        if let model {
            try make("proc/device-tree", nil)
            try write("proc/device-tree/model", model + "\0")
        }
        var list = ""
        var devices = ""
        for (index, card) in cards.enumerated() {
            let short = card.identifier.padding(toLength: 15, withPad: " ", startingAt: 0)
            list += " \(index) [\(short)]: USB-Audio - \(card.name)\n                      \(card.name) at [here]: x\n"
            for (number, directions) in card.devices.enumerated() {
                devices += "0\(index)-0\(number): \(card.name) : \(card.name)"
                if directions.contains("p") { devices += " : playback 1" }
                if directions.contains("c") { devices += " : capture 1" }
                devices += "\n"
            }
            try make("proc/asound/card\(index)", nil)
            if card.isUSB { try write("proc/asound/card\(index)/usbid", "0b0e:0412\n") }
        }
        try write("proc/asound/cards", list.isEmpty ? "--- no soundcards ---\n" : list)
        try write("proc/asound/pcm", devices)
    }

    deinit { try? FileManager.default.removeItem(at: root) }

    private func make(_ path: String, _ attributes: [FileAttributeKey: Any]?) throws {
        try FileManager.default.createDirectory(
            at: root.appending(path: path), withIntermediateDirectories: true, attributes: attributes)
    }

    func write(_ path: String, _ text: String) throws {
        try text.write(to: root.appending(path: path), atomically: true, encoding: .utf8)
    }

    var text: String { get throws { try String(contentsOf: output, encoding: .utf8) } }

    struct Result {
        var output = ""
        var errors = ""
        var failure: String?
        var object: [String: Any] {
            (try? JSONSerialization.jsonObject(with: Data(output.utf8))) as? [String: Any] ?? [:]
        }
    }

    /// - Parameter answers: nil without a person.
    func setup(_ arguments: String..., answers: [String]? = nil) throws -> Result {
        var words = ["setup", "--root", root.path()] + arguments
        if !arguments.contains("--output") { words += ["--output", output.path()] }
        if !arguments.contains("--boards") { words += ["--boards", SetupVerbTests.shipped] }
        let command = try #require(try Entry.command(for: words) as? SetupCommand)
        let box = Lines()
        var left = answers ?? []
        var result = Result()
        do {
            try command.perform(
                Output(write: { box.add($0, isError: false) }, writeError: { box.add($0, isError: true) })
            ) { left.isEmpty ? nil : left.removeFirst() }
        } catch {
            result.failure = "\(error)"
        }
        result.output = box.output
        result.errors = box.errors
        return result
    }

    private final class Lines: @unchecked Sendable {
        var output = ""
        var errors = ""
        func add(_ text: String, isError: Bool) { if isError { errors += text } else { output += text } }
    }
}

@Suite struct SetupVerbTests {
    static let shipped = URL(filePath: #filePath).appending(path: "../../../../etc/boards.conf").standardized.path()

    private static let pi = "Raspberry Pi 4 Model B Rev 1.4"

    @Test func `The kernel's list of cards is read`() throws {
        let board = try FakeBoard(
            model: Self.pi,
            [
                ("vc4hdmi0", "vc4-hdmi-0", false, ["p"]), ("Headphones", "bcm2835 Headphones", false, ["p"]),
                ("Device", "USB Audio Device", true, ["pc", "p"]),
            ])
        let facts = BoardFacts.read(root: board.root.path())
        #expect(facts.model == Self.pi)
        #expect(facts.cards.map(\.identifier) == ["vc4hdmi0", "Headphones", "Device"])
        #expect(facts.cards.map(\.index) == [0, 1, 2])
        #expect(facts.cards.map(\.name) == ["vc4-hdmi-0", "bcm2835 Headphones", "USB Audio Device"])
        #expect(
            facts.cards.map(\.isUSB) == [false, false, true] && facts.cards.map(\.isVideo) == [true, false, false])
        #expect(facts.cards.map(\.playback) == [[0], [0], [0, 1]] && facts.cards.map(\.capture) == [[], [], [0]])
        #expect(try BoardFacts.read(root: FakeBoard(model: nil, []).root.path()) == BoardFacts())
    }

    @Test func `Patterns have * for any characters and | as separator`() {
        #expect(BoardProfile.matches("Raspberry Pi 5", "Jetson*|Raspberry Pi *"))
        #expect(
            BoardProfile.matches("USBPhone", "*Phone") && BoardProfile.matches("a", "*")
                && BoardProfile.matches("", "*"))
        #expect(BoardProfile.matches("NXP i.MX8 EVK", "*i.MX*"))
        for pattern in ["", "Pi", "raspberry Pi *", "*4", "Raspberry*6"] {
            #expect(!BoardProfile.matches("Raspberry Pi 5", pattern), "\(pattern)")
        }
    }

    @Test func `Every shipped board is accepted, and its devices are a configuration that btcalld accepts`() throws {
        let profiles = try BoardProfile.read(Self.shipped)
        #expect(profiles.count > 8)
        for profile in profiles {
            let pattern = try #require(profile.card, "\(profile.name) names no card")
            let card = pattern.split(separator: "|")[0].replacing("*", with: "X")
            var facts = BoardFacts()
            facts.model = profile.model.map { String($0.split(separator: "|")[0].replacing("*", with: "X")) }
            facts.cards = [FoundCard(index: 0, identifier: String(card), name: "")]
            #expect(profile.fits(facts) != nil, "\(profile.name)")
            let proposal = try SetupProposal(facts, profiles, named: profile.name)
            #expect(proposal.boards == [profile.name])
            let text = proposal.lines.joined(separator: "\n")
            _ = try Configuration(text: text, name: "x")
            #expect(text.contains("CARD=\(card),"), "\(profile.name)")
        }
    }

    @Test func `An invalid file of boards is refused with its line`() throws {
        for (text, part) in [
            ("[bord x]\ncard = a", "f:2: [bord x] card: there is no such section"),
            ("[board x]\nspeaker.playback = a", "keys are model, card, note, camera.front, camera.back and"),
            ("[board x]\ncamera.side = a", "there is no such key"),
            ("[board x]\nspeakerphone.loudness = a", "there is no such key"),
            (
                "[board x]\ncard = a\n[board y]\ncard = b\n[board x]\nmodel = c",
                "f:6: [board x] model: the board is listed twice"
            ),
        ] {
            let error = #expect(throws: CommandFailure.self) {
                _ = try BoardProfile.profiles(ConfigurationReader.entries(ofText: text, name: "f"), file: "f")
            }
            #expect(error.map { "\($0)".contains(part) } == true, "\(String(describing: error))")
        }
    }

    @Test func `A known board is proposed, others add to it, then the other cards follow, USB first`() throws {
        let board = try FakeBoard(
            model: Self.pi,
            [
                ("vc4hdmi0", "vc4-hdmi-0", false, ["pc"]), ("Extra", "Some codec", false, ["pc"]),
                ("wm8960soundcard", "wm8960-soundcard", false, ["pc"]), ("Device", "USB Audio", true, ["p", "pc"]),
            ])
        let run = try board.setup("--yes", "--no-test")
        #expect(run.failure == nil && run.errors.isEmpty)
        #expect(run.output.contains("known as: wm8960-hat"))
        #expect(
            try board.text
                == """
                [device speakerphone]
                playback = plughw:CARD=wm8960soundcard,DEV=0
                capture = plughw:CARD=wm8960soundcard,DEV=0
                mixer = Speaker

                [device earpiece]
                playback = hw:CARD=Device,DEV=0
                capture = hw:CARD=Device,DEV=1

                """)
        // A card plugged into a PC precedes the PC's own codec, which keeps the jack.
        let desk = try FakeBoard(
            model: "OptiPlex", [("PCH", "HDA Intel PCH", false, ["pc"]), ("Device", "USB Audio", true, ["pc"])])
        #expect(try desk.setup("--yes", "--no-test").output.contains("known as: hda"))
        #expect(
            try desk.text.hasPrefix("[device speakerphone]\nplayback = hw:CARD=Device,DEV=0\n")
                && desk.text.contains("[device wiredHeadset]\nplayback = hw:CARD=PCH,DEV=0\n"))
        // A named board that is absent.
        let other = try board.setup("--yes", "--no-test", "--board", "codec-zero")
        #expect(other.failure?.contains("IQaudIOCODEC") == true && other.failure?.contains("wm8960soundcard") == true)
        let unknown = try board.setup("--yes", "--no-test", "--board", "teapot")
        #expect(unknown.failure?.contains("there is no board \"teapot\"; there are: respeaker-2mic") == true)
    }

    @Test func `The rest of a file and its mode stay, and a second run changes nothing`() throws {
        let board = try FakeBoard(model: Self.pi, [("Device", "USB Audio", true, ["pc"])])
        let old = """
            # ours
            [routing]
            headsetOrder = 00:00:5E:00:53:01   ; the good one

            # the loud one
            [device speakerphone]
            # was the codec
            playback = hw:0,0
            volume = 80
            mixer = PCM
            [calls]
            ownNumber = 110
            """
        try board.write("btcalld.conf", old)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: board.output.path())
        #expect(try board.setup("--yes", "--no-test").failure == nil)
        let expected =
            old.replacingOccurrences(of: "playback = hw:0,0", with: "playback = hw:CARD=Device,DEV=0")
            .replacingOccurrences(of: "mixer = PCM\n", with: "mixer = PCM\ncapture = hw:CARD=Device,DEV=0\n") + "\n"
        #expect(try board.text == expected)
        let rights = try FileManager.default.attributesOfItem(atPath: board.output.path())[.posixPermissions] as? Int
        #expect(rights == 0o600)
        #expect(try board.setup("--yes", "--no-test").failure == nil)
        #expect(try board.text == expected)
        // A file that btcalld would not accept stays unchanged.
        try board.write("btcalld.conf", "[routing]\nnonsense = 1\n")
        #expect(try board.setup("--yes", "--no-test").failure?.contains("[routing] nonsense") == true)
        #expect(try board.text == "[routing]\nnonsense = 1\n")
        // Nor is anything written to a file that cannot be written.
        let run = try board.setup("--yes", "--no-test", "--output", "/proc/btcalld.conf")
        #expect(run.failure?.contains("/proc/btcalld.conf cannot be written: open") == true)
    }

    @Test func `A device that is silent or cannot be opened is left out, and a tone is played`() throws {
        let board = try FakeBoard(model: "Test bench", [("Loop", "Loop", false, ["pc"])])
        let tone = board.root.appending(path: "tone").path()
        try board.write(
            "boards.conf",
            """
            [board bench]
            model = Test *
            speakerphone.playback = file:FILE='\(tone)',FORMAT=raw
            speakerphone.capture = null
            earpiece.playback = hw:CARD=nowhere,DEV=0
            earpiece.capture = null
            wiredHeadset.playback = null
            """)
        let boards = board.root.appending(path: "boards.conf").path()
        // Tone heard; zeros used anyway; the earpiece's zeros not; the wired headset not heard; write.
        let run = try board.setup("--boards", boards, answers: ["y", "", "n", "no", "yes"])
        #expect(run.failure == nil)
        #expect(run.errors.contains("earpiece: playback left out: plughw:CARD=nowhere,DEV=0: no such device"))
        #expect(run.errors.contains("wiredHeadset: playback left out: it was not heard"))
        #expect(run.output.contains("received only zeros"))
        let text = try board.text
        #expect(text.contains("[device speakerphone]\nplayback = file:FILE='\(tone)',FORMAT=raw\ncapture = null\n"))
        #expect(!text.contains("earpiece") && !text.contains("wiredHeadset"))
        // One second of 440 Hz: 880 changes of sign in each channel.
        let samples = try Data(contentsOf: URL(filePath: tone)).withUnsafeBytes { Array($0.bindMemory(to: Int16.self)) }
        #expect(samples.count >= 48000 && (3000...3300).contains(samples.map { abs(Int($0)) }.max() ?? 0))
        let changes = zip(samples, samples.dropFirst()).count { ($0 < 0) != ($1 < 0) }
        #expect((870...890).contains(changes))
        // Nothing is left when nothing works, and no question is asked without a terminal.
        let silent = try board.setup("--boards", boards, "--output", "-")
        #expect(silent.failure?.contains("no answer to the question") == true)
        let refused = try board.setup("--boards", boards, answers: ["y", "y", "n", "n", "n"])
        #expect(refused.failure == "nothing was written")
    }

    @Test func `--json and --output - print the text, and a missing card is reported with what to do`() throws {
        let board = try FakeBoard(model: nil, [("Device", "USB Audio", true, ["pc"])])
        let printed = try board.setup("--yes", "--no-test", "--output", "-")
        #expect(printed.output.contains("[device speakerphone]\nplayback = hw:CARD=Device,DEV=0\n"))
        #expect(!FileManager.default.fileExists(atPath: board.output.path()))
        let json = try board.setup("--yes", "--no-test", "--json").object
        #expect(
            Set(json.keys) == ["model", "boards", "cards", "devices", "checks", "notes", "written"]
                && json["model"] is NSNull)
        let device = (json["devices"] as? [[String: Any]])?.first
        #expect(device?["device"] as? String == "speakerphone" && device?["mixer"] is NSNull)
        #expect(json["written"] as? String == board.output.path())
        let none = try FakeBoard(model: Self.pi, [("vc4hdmi0", "vc4-hdmi-0", false, ["p"])]).setup("--yes")
        #expect(none.failure?.contains("there are vc4hdmi0; name the devices by hand") == true)
    }
}
