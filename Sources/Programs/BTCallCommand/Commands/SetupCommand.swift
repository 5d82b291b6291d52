import ALSA
import ArgumentParser
import CommandKit
import Configuration
import ControlLoop
import Glibc
import JSONText
import Routing

/// `btcall setup`: assigns a board's sound cards to devices.
struct SetupCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "setup", abstract: "Find a board's sound cards, try them, and write their [device] sections.",
        discussion: """
            It compares the cards with the boards in /usr/share/btcall/boards.conf. Each proposed device plays a \
            tone for one second and records for one second; devices that cannot be opened are left out. \
            Everything else in the file stays: other sections, comments, and keys that are not proposed. btcalld \
            reads the new file when it restarts, and should be stopped meanwhile: it may use the cards.

            Examples:
              btcall setup
              btcall setup --yes --board wm8960-hat
              btcall setup --yes --no-test --output -
            """)

    /// The configuration file that btcalld reads by default.
    static let file = "/etc/btcall/btcalld.conf"

    @Flag(help: "Ask nothing: use every proposed device that can be opened.")
    var yes = false

    @Flag(name: .customLong("no-test"), help: "Play and record nothing.")
    var isUntested = false

    @Option(help: ArgumentHelp("Use only this board of the file of boards.", valueName: "name"))
    var board: String?

    @Option(help: "The configuration to change; - prints it instead.", completion: .file())
    var output = SetupCommand.file

    @Option(help: "The file of boards.", completion: .file())
    var boards = BoardProfile.installed

    @Flag(help: "Print JSON for programs.")
    var json = false

    @Option(help: ArgumentHelp("Use this directory instead of /.", visibility: .hidden))
    var root = ""

    func run() throws {
        ALSAEnvironment.prepare()
        let command = self
        let code = runOnControlLoop {
            await exitStatus(.terminal) { try command.perform(.terminal, answer: { readLine() }) }
        }
        if code != 0 { throw ExitCode(code) }
    }

    /// - Parameter answer: reads a person's answer to a question; nil at the end of input.
    func perform(_ screen: Output, answer: () -> String?) throws {
        let facts = BoardFacts.read(root: root)
        var proposal = try SetupProposal(facts, try profiles(), named: board)
        guard !proposal.devices.isEmpty else {
            throw CommandFailure(
                "no sound card of this board both plays and records, and none is known: there are \(SetupProposal.names(facts))"
                    + "; name the devices by hand (`aplay -L`, `arecord -L`, [device …] in \(Self.file))")
        }
        let talk = json || output == "-" ? Output(write: { _ in }, writeError: screen.writeError) : screen
        talk.print("board: \(facts.model ?? "unknown"); cards: \(SetupProposal.names(facts))")
        if !proposal.boards.isEmpty { talk.print("known as: \(proposal.boards.joined(separator: ", "))") }
        proposal.notes.forEach(talk.print)
        talk.print("")
        proposal.lines.forEach(talk.print)
        var checks: [Check] = []
        if !isUntested { checks = try test(&proposal, talk, answer) }
        guard !proposal.devices.isEmpty else {
            throw CommandFailure("none of the proposed devices can be used: nothing was written")
        }
        let text = try merged(proposal)
        if output != "-" {
            try confirm("write this to \(output)?", talk, answer)
            try SetupFile.replace(output, with: text)
            talk.print("\(output) written: it takes effect when btcalld restarts (`systemctl restart btcalld`)")
        } else if !json {
            // A file receives the text unchanged.
            if isatty(STDOUT_FILENO) == 1 { screen.printDocument(text) } else { screen.write(text) }
        }
        if json { screen.print(report(facts, proposal, checks)) }
    }

    /// Without the installed file, proposals come from the cards alone.
    private func profiles() throws -> [BoardProfile] {
        if boards == BoardProfile.installed, board == nil, access(boards, F_OK) != 0 { return [] }
        return try BoardProfile.read(boards)
    }

    // MARK: Trying

    private struct Check {
        let device: LocalDevice
        let key: String
        let failure: String?
    }

    private func test(_ proposal: inout SetupProposal, _ talk: Output, _ answer: () -> String?) throws -> [Check] {
        var checks: [Check] = []
        for device in proposal.devices {
            for key in ["playback", "capture"] {
                guard let name = device.value(key) else { continue }
                let failure =
                    try key == "playback" ? play(name, device, talk, answer) : record(name, device, talk, answer)
                checks.append(Check(device: device.device, key: key, failure: failure))
                guard let failure else { continue }
                talk.printError("\(device.device.rawValue): \(key) left out: \(failure)")
                proposal.remove(key, of: device.device)
            }
        }
        return checks
    }

    /// - Returns: the reason for leaving it out; nil when it is used.
    private func play(
        _ name: String, _ device: SetupProposal.Device, _ talk: Output, _ answer: () -> String?
    ) throws -> String? {
        talk.print("\(device.device.rawValue): a tone on \(name)")
        do {
            try SoundCheck.play(name)
        } catch {
            return "\(error)"
        }
        return try ask("was it heard?", answer, talk) ? nil : "it was not heard"
    }

    private func record(
        _ name: String, _ device: SetupProposal.Device, _ talk: Output, _ answer: () -> String?
    ) throws -> String? {
        talk.print("\(device.device.rawValue): one second of \(name): say something")
        do {
            let peak = try SoundCheck.record(name)
            guard let level = SoundCheck.decibels(peak) else {
                talk.print("received only zeros: it may be muted (`alsamixer`)")
                return try ask("use it anyway?", answer, talk) ? nil : "it is silent"
            }
            talk.print("peak \(level.tenths) dB")
        } catch {
            return "\(error)"
        }
        return try ask("use it?", answer, talk) ? nil : "declined"
    }

    private func confirm(_ question: String, _ talk: Output, _ answer: () -> String?) throws {
        guard try ask(question, answer, talk) else { throw CommandFailure("nothing was written") }
    }

    private func ask(_ question: String, _ answer: () -> String?, _ talk: Output) throws -> Bool {
        guard !yes, output != "-" || !isUntested else { return true }
        talk.write("\(question) [Y/n] ")
        guard let line = answer() else {
            throw CommandFailure("no answer to the question: give --yes, and --no-test to play nothing")
        }
        return !line.lowercased().hasPrefix("n")
    }

    // MARK: Writing

    private func merged(_ proposal: SetupProposal) throws -> String {
        var old = ""
        let source = output == "-" ? Self.file : output
        do throws(FileRefusal) {
            old = String(decoding: try SetupFile.bytes(of: source), as: UTF8.self)
        } catch {
            var isAbsent = false
            if case .failed(let failure) = error.reason { isAbsent = failure.code == ENOENT }
            guard isAbsent || output == "-" else { throw CommandFailure("\(source) cannot be read: \(error.what)") }
        }
        var edit = ConfigurationEdit(old)
        for device in proposal.devices {
            for (key, value) in device.values { edit.set("device \(device.device.rawValue)", key, value) }
        }
        // Refuses to write a configuration that btcalld would not accept.
        _ = try Configuration(text: edit.text, name: source)
        return edit.text
    }

    private func report(_ facts: BoardFacts, _ proposal: SetupProposal, _ checks: [Check]) -> JSON {
        [
            "model": JSON(facts.model), "boards": .array(proposal.boards.map { .string($0) }),
            "cards": .array(facts.cards.map { .string($0.identifier) }),
            "devices": .array(
                proposal.devices.map { device in
                    [
                        "device": .string(device.device.rawValue), "playback": JSON(device.value("playback")),
                        "capture": JSON(device.value("capture")), "mixer": JSON(device.value("mixer")),
                        "origin": .string(device.origin),
                    ]
                }),
            "checks": .array(
                checks.map { check in
                    [
                        "device": .string(check.device.rawValue), "key": .string(check.key),
                        "failure": JSON(check.failure),
                    ]
                }),
            "notes": .array(proposal.notes.map { .string($0) }),
            "written": JSON(output == "-" ? nil : output),
        ]
    }
}
