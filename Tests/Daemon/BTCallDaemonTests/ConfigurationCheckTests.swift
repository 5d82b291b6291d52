import BTCallDaemon
import BoardControl
import BoardInput
import Configuration
import ControlLoop
import Foundation
import Glibc
import HandsFree
import Routing
import TestSupport
import Testing

/// `btcalld --check`, and the daemon's own messages about an invalid configuration.
@Suite(.timeLimit(.minutes(1))) struct ConfigurationCheckTests {
    private func mistakes(_ text: String) throws -> [String] {
        let contents = try ConfigurationReader.contents(ofText: text, name: "f")
        return Configuration.reading(contents, file: "f").mistakes.map(\.description)
    }

    @Test func `All mistakes of a file are reported at once, in its order`() throws {
        let text = """
            port = 1
            [routing]
            exclud = earpiece
            silentLimitMilliseconds = soon
            newHeadset = tak
            what is this
            [rong]
            volume = 3
            [audio
            callQueueBlocks = 9
            [audio]
            callQueueBlocks = 9
            callQueueBlocks = 3
              periodMilliseconds = 5
            cadence = 1on 1off
            [bluetooth]
            codecs = msbc, cvds
            operatorName = \(String(repeating: "x", count: 300))
            [daemon]
            loglevel = debug
            logLevel = debugg
            [device speekerphone]
            playback = hw:0,0
            [device earpiece]
            [device wiredHeadset]
            playback = hw:0
            volume = 30
            """
        let found = try mistakes(text)
        let expected = [
            "f:1: port: stands in no section; write the section's name above it",
            "f:3: [routing] exclud: there is no such key; did you mean 'exclude'?",
            "f:4: [routing] silentLimitMilliseconds: 'soon' is not accepted; it is a whole number from 0 to 3600000",
            "f:5: [routing] newHeadset: 'tak' is not accepted; did you mean 'take'? it is stay, take",
            "f:6: this is neither a section nor an entry; write [section], key = value, or a comment that begins with # or ;",
            "f:7: [rong]: there is no such section; did you mean [ring]?",
            "f:9: this is no section: the bracket is not closed; write [section], key = value, or a comment that begins with # or ;",
            "f:12: [audio] callQueueBlocks: '9' is not accepted; it is auto or a whole number from 2 to 6",
            "f:13: [audio] callQueueBlocks: is given a second time; keep one of this and line 12",
            "f:14: the line begins with a blank, as if it went on with line 12; begin every line at its start",
            "f:15: [audio] cadence: there is no such key; it is a key of [ring]",
            "f:17: [bluetooth] codecs: 'msbc, cvds' is not accepted; did you mean 'cvsd'? it is a list of ",
            "f:18: the line is too long; a line may have 198 bytes",
            "f:20: [daemon] loglevel: there is no such key; did you mean 'logLevel'?",
            "f:21: [daemon] logLevel: 'debugg' is not accepted; did you mean 'debug'? it is trace, debug, ",
            "f:22: [device speekerphone]: there is no such section; did you mean [device speakerphone]?",
            "f:24: [device earpiece]: is empty; name an ALSA device: playback = hw:0,0, or delete the line",
            "f:27: [device wiredHeadset] volume: has no mixer control to set; name one as well: mixer = Speaker",
        ]
        #expect(found.count == expected.count, "\(found)")
        for (line, beginning) in zip(found, expected) { #expect(line.hasPrefix(beginning), "\(line)") }
    }

    @Test func `Many invalid lines cost neither time nor an endless text`() throws {
        let found = try mistakes(String(repeating: "nothing\n", count: 100_000))
        #expect(found.count == 50)
    }

    @Test func `A key's name from an earlier version is accepted, with a warning that names the present one`() throws {
        let contents = try ConfigurationReader.contents(
            ofText: "[routing]\nsilentLimitMs = 200\n[headset 00:00:5E:00:53:01]\naudioDelayMs = 300\n", name: "f")
        let (configuration, mistakes) = Configuration.reading(contents, file: "f")
        #expect(mistakes.isEmpty && configuration.routing.silentLimit == .milliseconds(200))
        #expect(configuration.headsetEffects.values.first == [.audioDelayMilliseconds(300)])
        #expect(
            configuration.warnings.map(\.description) == [
                "f:2: [routing] silentLimitMs: is called silentLimitMilliseconds now; write silentLimitMilliseconds = 200",
                "f:4: [headset 00:00:5E:00:53:01] audioDelayMs: is called audioDelayMilliseconds now; "
                    + "write audioDelayMilliseconds = 300",
            ])
        let twice = try self.mistakes("[routing]\nsilentLimitMilliseconds = 1\nsilentLimitMs = 2\n")
        #expect(
            twice == [
                "f:3: [routing] silentLimitMs: is given a second time, as silentLimitMilliseconds; keep one of this and line 2"
            ])
    }

    @Test func `Every key's name has its unit in full`() {
        for section in ConfigurationSection.all {
            for key in section.keys {
                let isShort = ["Ms", "Secs", "Sec", "Min", "dB", "Db", "Hz"].contains { key.name.hasSuffix($0) }
                #expect(!isShort, "[\(section.name)] \(key.name)")
            }
        }
    }

    // MARK: The program

    private struct Run {
        let status: Int32
        let output: String
        let errors: String
    }

    private func btcalld(_ arguments: String...) throws -> Run {
        let directory = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        let process = Process()
        let (output, errors) = (Pipe(), Pipe())
        process.executableURL = directory.appending(path: "btcalld")
        process.arguments = arguments
        process.standardOutput = output
        process.standardError = errors
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let text = try output.fileHandleForReading.readToEnd() ?? Data()
        let errorText = try errors.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return Run(
            status: process.terminationStatus, output: String(decoding: text, as: UTF8.self),
            errors: String(decoding: errorText, as: UTF8.self))
    }

    private func file(_ text: String) throws -> (path: String, remove: () -> Void) {
        let path = FileManager.default.temporaryDirectory.appending(path: "check-\(UUID().uuidString).conf")
        try text.write(to: path, atomically: true, encoding: .utf8)
        return (path.path(), { try? FileManager.default.removeItem(at: path) })  // It may stay.
    }

    @Test func `--check and the start report the same mistakes, and exit with 1`() throws {
        let (path, remove) = try file("[routing]\nexclud = x\n[daemon]\nlogLevel = loud\n[device earpiece]\n")
        defer { remove() }
        let check = try btcalld("--check", path)
        #expect(check.status == 1 && check.output.isEmpty)
        let lines = check.errors.split(separator: "\n")
        #expect(lines.count == 4 && lines.last == "btcalld: 3 mistakes in \(path)", "\(check.errors)")
        #expect(lines[0].hasPrefix("\(path):2: ") && lines[2].hasPrefix("\(path):5: "))
        let start = try btcalld("--config", path, "--bus", "unix:path=/nonexistent")
        #expect(start.status == 1 && start.errors == check.errors)
        #expect(try btcalld("--config", path, "--check").errors == check.errors)
    }

    @Test func `--check reads only regular files, and names the kind of any other at once`() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "check-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }  // It may stay.
        let fifo = folder.appending(path: "fifo").path()
        #expect(mkfifo(fifo, 0o600) == 0)
        for (path, kind) in [(folder.path(), "a directory"), (fifo, "a FIFO"), ("/dev/zero", "a character device")] {
            let run = try btcalld("--check", path)
            #expect(
                run.status == 1 && run.errors.hasPrefix("\(path): is \(kind); accepted: a regular file\n"), "\(run)")
        }
        let absent = try btcalld("--check", folder.path() + "absent")
        #expect(absent.status == 1 && absent.errors.contains("No such file or directory"))
    }

    @Test func `--check --devices opens the sound cards, and exits with 1 when one does not open`() throws {
        let (path, remove) = try file(
            "[device speakerphone]\nplayback = null\ncapture = null\n[device earpiece]\nplayback = hw:nosuchcard\n")
        defer { remove() }
        #expect(try btcalld("--check", path).status == 0)
        let run = try btcalld("--check", path, "--devices")
        #expect(run.status == 1)
        #expect(run.output.contains("[device speakerphone] playback opened: 48000 Hz, "), "\(run.output)")
        #expect(run.output.contains("[device speakerphone] capture opened: 48000 Hz, "))
        #expect(run.output.contains("[device earpiece] cannot be opened: there is no ALSA device hw:nosuchcard; see"))
        let (empty, removeEmpty) = try file("")
        defer { removeEmpty() }
        let none = try btcalld("--check", empty, "--devices")
        #expect(none.status == 0 && none.output.contains("no sound card to try"))
    }

    @Test func `Wrong arguments are reported, with exit status 2`() throws {
        let misspelt = try btcalld("--chek")
        #expect(
            misspelt.status == 2
                && misspelt.errors.hasPrefix("btcalld: unknown argument --chek: did you mean '--check'?"))
        let alone = try btcalld("--devices")
        #expect(alone.status == 2 && alone.errors.hasPrefix("btcalld: --devices goes with --check"))
    }

    @Test(.enabled(if: access("/etc/btcall/btcalld.conf", F_OK) != 0))
    func `--check without a file names the path it looked for`() throws {
        let run = try btcalld("--check")
        #expect(run.status == 1 && run.errors.contains("/etc/btcall/btcalld.conf does not exist, and neither"))
    }
}
