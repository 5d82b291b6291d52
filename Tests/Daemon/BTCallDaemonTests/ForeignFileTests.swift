import BTCall
import BTCallAPI
import BTCallDaemon
import BluetoothTypes
import CallControl
import Configuration
import ControlLoop
import Diagnostics
import Foundation
import Glibc
import HandsFree
import HeadsetControl
import TestSupport
import Testing

/// A directory for one test.
private struct Folder {
    let path = FileManager.default.temporaryDirectory.appending(path: "btcall-foreign-\(UUID().uuidString)").path()

    init() { mkdir(path, 0o700) }

    func remove() { try? FileManager.default.removeItem(atPath: path) }  // It may stay in the temporary directory.

    func makeFIFO(_ name: String) -> String {
        let fifo = path + "/" + name
        #expect(mkfifo(fifo, 0o600) == 0)
        return fifo
    }

    func write(_ text: String, _ name: String) throws {
        try Data(text.utf8).write(to: URL(filePath: path + "/" + name))
    }
}

/// Special files and files with arbitrary contents: each would have blocked or ended the daemon.
@Suite(.timeLimit(.minutes(1))) @ControlPlane struct ForeignConfigurationTests {
    @Test func `A configuration or quirks file that is a FIFO is refused at once, with what is accepted`() throws {
        let folder = Folder()
        defer { folder.remove() }
        let fifo = folder.makeFIFO("fifo")
        let configuration = try #require(throws: ConfigurationError.self) { try Configuration(file: fifo) }
        #expect("\(configuration)" == "\(fifo): is a FIFO; accepted: a regular file")
        let quirks = try #require(throws: ConfigurationError.self) {
            try QuirksDatabase.load(shipped: nil, overlay: fifo)
        }
        #expect("\(quirks)".hasPrefix("\(fifo): is a FIFO; accepted: a regular file; or name another one in [quirks]"))
        #expect(throws: ConfigurationError.self) { try ConfigurationCheck.check(fifo) }
        try folder.write(String(repeating: "#", count: 1 << 20) + "#", "long")
        let long = try #require(throws: ConfigurationError.self) { try Configuration(file: folder.path + "/long") }
        #expect(long.problem == "has more than 1048576 bytes")
    }

    @Test func `State files that are FIFOs are refused at once, and replaced at the next write`() throws {
        let folder = Folder()
        defer { folder.remove() }
        for name in ["preferences.conf", "calls.log", "volumes.conf", "reconnect.conf", "codecs.conf"] {
            _ = folder.makeFIFO(name)
        }
        let log = LogLines()
        let problems = ProblemList(logger: log.logger)
        let writer = StateWriter(isImmediate: true)
        let preferences = try #require(throws: ConfigurationError.self) {
            try PreferenceStore(directory: folder.path).load()
        }
        #expect(preferences.problem == "is a FIFO")
        #expect(throws: ConfigurationError.self) { try ReconnectStore(directory: folder.path).load() }
        #expect(throws: ConfigurationError.self) { try CodecMemoryStore(directory: folder.path).load(codecs: [.cvsd]) }
        let calls = CallLog(
            file: CallLogFile(directory: folder.path), withNumbers: true, writer: writer, problems: problems,
            logger: log.logger)
        #expect(calls.entries(0).isEmpty)
        #expect(log.containing("warning", "a new log of calls is started", "is a FIFO").count == 1)
        let volumes = VolumeMemory(
            directory: folder.path, pause: .seconds(3600), writer: writer, problems: problems, logger: log.logger)
        #expect(log.containing("error", "volumes of headsets are not restored", "is a FIFO").count == 1)
        volumes.note(.init(speaker: 3), of: Box.first)
        volumes.flush()
        #expect(problems.problems.isEmpty)
        var status = stat()
        #expect(lstat(folder.path + "/volumes.conf", &status) == 0 && status.st_mode & S_IFMT == S_IFREG)
    }

    @Test func `Valid lines of damaged preferences apply, and each kind of damage is reported once`() throws {
        let folder = Folder()
        defer { folder.remove() }
        let long = "file = /" + String(repeating: "a", count: 300)
        try folder.write(
            "[routing]\npreferred = bluetooth\nnonsense\nmore nonsense\n\(long)\n\(long)\nexclude = wiredHeadset\n"
                + "exclude = earpiece\n[calls]\ndoNotDisturb = yes\n", "preferences.conf")
        let (preferences, leftOut) = try PreferenceStore(directory: folder.path).load()
        #expect(preferences.preferred == "bluetooth")
        #expect(preferences.settings == ["routing.exclude": "wiredHeadset", "calls.doNotDisturb": "yes"])
        #expect(leftOut.map(\.line) == [3, 5, 8])
        #expect(leftOut[1].problem == "the line is too long")
    }
}

extension DaemonTests {
    @Suite(.timeLimit(.minutes(2))) @ControlPlane struct ForeignFileTests {
        @Test(arguments: ["ring.file", "identity.ringtoneSound"])
        func `A FIFO as ring tone blocks nothing: the built-in tone rings, and a problem is raised`(
            _ setting: String
        ) async throws {
            let folder = Folder()
            defer { folder.remove() }
            let fifo = folder.makeFIFO("tone.wav")
            try await Box.run(
                configure: { $0.stateDirectory = folder.path + "/state" },
                body: { box in
                    try await box.bridge.setSetting(setting, to: fifo)
                    let registration = try await box.register()
                    let call = try await registration.reportIncoming(number: "1001")
                    let problem = try await box.problem("ring.file")
                    #expect(problem.what == "\(fifo): is a FIFO; accepted: a regular file")
                    try await registration.update(call, .ended)
                    // It is stored, and blocks nothing after a restart either.
                    try await box.restartDaemon()
                    let again = try await box.register()
                    _ = try await again.reportIncoming(number: "1002")
                    _ = try await box.problem("ring.file")
                })
        }

        @Test func `Invalid times and texts in the call log lose only their lines, and Log answers`() async throws {
            let folder = Folder()
            defer { folder.remove() }
            func line(
                began: String = "1000", answered: String = "", ended: String = "2000", number: String = "5550100",
                provider: String = "telephone"
            ) -> String {
                [began, answered, ended, "incoming", "missed", provider, "", "", number, ""]
                    .joined(separator: "\t") + "\n"
            }
            let bad = [
                line(answered: "-9223372036854775808"), line(answered: "-1"), line(answered: "9223372036854775807"),
                line(began: "-9223372036854775808"), line(began: "-1"), line(ended: "9223372036854775807"),
                line(ended: "999"), line(number: "%00"), line(provider: "tele%00phone"),
                line(number: String(repeating: "5", count: 256)), line(provider: "a\u{0}b"),
            ]
            try folder.write(bad.joined() + line(answered: "1500", number: "5550101"), "calls.log")
            try await Box.run(
                configure: {
                    $0.stateDirectory = folder.path
                    $0.callRecord = folder.path + "/record.json"
                    $0.recordsNumbers = true
                },
                body: { box in
                    let log = try await box.bridge.calls.log()
                    #expect(log.map(\.number) == ["5550101"])
                    #expect(log.first?.durationMs == 500)
                    let complaint = "calls.log: \(bad.count) lines are not understood"
                    #expect(box.log.containing("warning", complaint).count == 1)
                })
        }

        @Test func `PCM names that write, run or connect are refused on the bus`() async throws {
            let folder = Folder()
            defer { folder.remove() }
            let mark = folder.path + "/mark"
            try await Box.run { box in
                for name in [
                    "tee:null,'|touch \(mark)',raw", "file:'|touch \(mark)',raw", "file:\(mark)",
                    "plug:'tee:null,\(mark),raw'", "shm:\(mark),null", "{ type file file '\(mark)' slave.pcm null }",
                ] {
                    let error = await #expect(throws: BridgeError.self) {
                        try await box.bridge.setSetting("ring.playback", to: name)
                    }
                    let text = error.map { "\($0)" } ?? ""
                    #expect(text.contains("a PCM of asound.conf"), "\(text)")
                    #expect(text.contains("other names only in the configuration file"), "\(text)")
                }
                #expect(try await box.bridge.settings().first { $0.key == "ring.playback" }?.value == "")
                for name in ["plughw:CARD=PCH,DEV=0", "horn", ""] {
                    try await box.bridge.setSetting("ring.playback", to: name)
                    #expect(try await box.bridge.settings().first { $0.key == "ring.playback" }?.value == name)
                }
                #expect(access(mark, F_OK) != 0)
            }
        }

        @Test func `Stored values are checked as well, dropped when invalid, and a problem until set again`()
            async throws
        {
            let folder = Folder()
            defer { folder.remove() }
            try folder.write("[ring]\nplayback = tee:null,/tmp/x,raw\nvolume = 30\n", "preferences.conf")
            try await Box.run(
                configure: { $0.stateDirectory = folder.path },
                body: { box in
                    #expect(box.daemon.settings.configuration.ring.playback == nil)
                    #expect(box.daemon.settings.configuration.ring.volume == 30)
                    #expect(!box.log.containing("warning", "ring.playback", "tee:null,/tmp/x,raw").isEmpty)
                    let problem = try await box.problem("settings")
                    #expect(problem.what.hasSuffix(": ring.playback"))
                    #expect(problem.remedy.contains("btcall config ring.playback --reset"))
                    try await box.bridge.resetSetting("ring.playback")
                    try await box.noProblem("settings")
                    try await box.bridge.setSetting("ring.volume", to: "31")
                    let text = try String(contentsOfFile: folder.path + "/preferences.conf", encoding: .utf8)
                    #expect(!text.contains("tee:"))
                })
        }

        @Test func `The file's own value is accepted, since it already applies`() async throws {
            let name = "file:FILE=/dev/null,FORMAT=raw"
            try await Box.run(
                configure: { $0.ring.playback = name },
                body: { box in
                    try await box.bridge.setSetting("ring.playback", to: "horn")
                    try await box.bridge.setSetting("ring.playback", to: name)
                    try await box.bridge.setSetting("ring.playback", to: "horn")
                    try await box.bridge.resetSetting("ring.playback")
                    #expect(box.daemon.settings.configuration.ring.playback == name)
                })
        }

        @Test(arguments: ["ring.file", "identity.ringtoneSound"])
        func `A path that the preferences file cannot store unchanged is refused`(_ setting: String) async throws {
            let folder = Folder()
            defer { folder.remove() }
            try await Box.run(
                configure: { $0.stateDirectory = folder.path },
                body: { box in
                    let longest = "/" + String(repeating: "a", count: 149)
                    for path in [longest + "a", "/a ;b.wav", "/a.wav ", "a.wav"] {
                        await #expect(throws: BridgeError.self) { try await box.bridge.setSetting(setting, to: path) }
                    }
                    for path in [longest, "/a;b c.wav"] {
                        try await box.bridge.setSetting(setting, to: path)
                        try await box.restartDaemon()
                        #expect(try await box.bridge.settings().first { $0.key == setting }?.value == path)
                    }
                })
        }
    }
}
