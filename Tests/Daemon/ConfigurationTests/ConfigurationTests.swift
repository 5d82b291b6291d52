import AudioDSP
import BluetoothTypes
import Configuration
import ControlLoop
import Glibc
import Logging
import Routing
import Testing

@Suite struct ConfigurationTests {
    private func read(_ text: String) throws(ConfigurationError) -> Configuration {
        try Configuration(text: text, name: "test.conf")
    }

    private func refusal(_ text: String) -> ConfigurationError? {
        do throws(ConfigurationError) {
            _ = try read(text)
            return nil
        } catch {
            return error
        }
    }

    @Test func `an empty file gives the defaults`() throws {
        let configuration = try read("")
        #expect(configuration.codecs == [.mSBC, .cvsd])
        #expect(configuration.autostart)
        #expect(configuration.localDevices.isEmpty)
    }

    @Test func `LC3-SWB is accepted where it is built in; otherwise the refusal says how to build it`() throws {
        let text = "[bluetooth]\ncodecs = lc3-swb, msbc"
        if LC3Codec.isAvailable {
            let configuration = try read(text)
            #expect(configuration.codecs == [.lc3SWB, .mSBC, .cvsd])
        } else {
            let error = try #require(refusal(text))
            #expect(String(describing: error).contains(LC3Codec.howToBuild))
        }
    }

    @Test func `the record of calls and its numbers are off by default`() throws {
        #expect(try read("").callRecord == nil)
        #expect(try !read("").recordsNumbers)
        let configuration = try read("[calls]\nrecord = /var/lib/btcall/calls.jsonl\nrecordNumbers = yes")
        #expect(configuration.callRecord == "/var/lib/btcall/calls.jsonl" && configuration.recordsNumbers)
        #expect(try read("[calls]\nrecord =").callRecord == nil)
        #expect(refusal("[calls]\nrecord = calls.jsonl")?.accepted == "it is an absolute path; empty for none")
        #expect(refusal("[calls]\nrecordNumbers = perhaps")?.line == 2)
    }

    @Test func `reads every section`() throws {
        let configuration = try read(
            """
            # a comment
            [daemon]
            logLevel = debug
            autostart = no
            [routing]
            silentLimitMilliseconds = 200
            headsetOrder = 00:1B:DC:08:00:11
            [bluetooth]
            codecs = cvsd
            [audio]
            callQueueBlocks = 4
            [device earpiece]
            playback = hw:0,0
            capture = hw:0,0   ; the same card
            mixer = Headphone
            volume = 80
            hook = !gpio:gpiochip0:17
            [device wiredHeadset]
            playback = hw:0,1
            jack = Headphone Jack, Headset Mic Jack
            """)
        #expect(configuration.logLevel == .debug)
        #expect(!configuration.autostart)
        #expect(configuration.routing.silentLimit == .milliseconds(200))
        #expect(configuration.codecs == [.cvsd])
        #expect(configuration.callQueueBlocks == 4)
        #expect(
            configuration.localDevices == [
                .earpiece: Configuration.SoundCard(
                    playback: "hw:0,0", capture: "hw:0,0", mixer: "Headphone", volume: 80,
                    hook: HookSpecification("!gpio:gpiochip0:17")),
                .wiredHeadset: Configuration.SoundCard(
                    playback: "hw:0,1",
                    jack: .parts([
                        .control(card: nil, name: "Headphone Jack", isMicrophone: false),
                        .control(card: nil, name: "Headset Mic Jack", isMicrophone: true),
                    ])),
            ])
    }

    @Test func `the queue of an application adapts unless the file gives a number`() throws {
        #expect(Configuration().callQueueBlocks == nil)
        #expect(try read("[audio]\ncallQueueBlocks = auto\n").callQueueBlocks == nil)
        #expect(try read("[audio]\ncallQueueBlocks = 2\n").callQueueBlocks == 2)
        for refused in ["1", "7", "Auto", ""] {
            #expect(refusal("[audio]\ncallQueueBlocks = \(refused)\n") != nil, "\(refused)")
        }
    }

    @Test func `names file, line, key and what is accepted`() throws {
        let error = try #require(refusal("[audio]\n\ncallQueueBlocks = 9\n"))
        #expect(error.line == 3)
        #expect(
            "\(error)"
                == "test.conf:3: [audio] callQueueBlocks: '9' is not accepted; it is auto or a whole number from 2 to 6"
        )
    }

    @Test(arguments: [
        ("[audio]\nvolume = 3\n", 2, "there is no such key"), ("[sound]\nvolume = 3\n", 1, "there is no such section"),
        ("[device doorbell]\nplayback = x\n", 1, "there is no such section"),
        ("[routing]\nsilentLimitMs = soon\n", 2, "'soon' is not accepted"),
        ("[daemon]\nautostart = yes\nautostart = no\n", 3, "is given a second time"),
        ("[daemon]\nwhat is this\n", 2, "this is neither a section nor an entry"),
        ("[daemon]\nstateDirectory = here\n", 2, "'here' is not accepted"),
        ("[device earpiece]\nvolume = loud\n", 2, "'loud' is not accepted"),
        ("[device earpiece]\nhook = cradle\n", 2, "'cradle' is not accepted"),
        ("[device earpiece]\njack = Headphone Jack\n", 2, "there is no such key"),
        ("[device wiredHeadset]\njack = evdev:\n", 2, "'evdev:' is not accepted"),
        ("[device speakerphone]\nhook = evdev:cradle\n", 2, "there is no such key"),
    ])
    func `refuses invalid entries`(_ text: String, _ line: Int, _ problem: String) throws {
        let error = try #require(refusal(text))
        #expect(error.line == line)
        #expect(error.problem == problem)
        #expect(!error.accepted.isEmpty)
    }

    @Test func `refuses a line that libinih would cut`() throws {
        let long = "[daemon]\nstateDirectory = /" + String(repeating: "a", count: 300) + "\n"
        let error = try #require(refusal(long))
        #expect(error.line == 2)
        #expect(error.problem == "the line is too long")
        let fits = "stateDirectory = /" + String(repeating: "a", count: 180)
        #expect(fits.utf8.count == ConfigurationReader.maximumLineBytes)
        #expect(refusal("[daemon]\n\(fits)\n") == nil)
    }

    @Test func `a line with a NUL is refused, and a state file loses only that line`() throws {
        let text = "[routing]\nopenAttempts = 3\0retryBaseMs = 1\nretryBaseMs = 200\n[audio]\n\0\0"
        let error = try #require(refusal(text))
        #expect(error.line == 2 && error.problem == "the line has a NUL character")
        let path = "/tmp/btcall-nul-\(getpid()).conf"
        defer { unlink(path) }
        try OwnFile.replace(path, with: Array(text.utf8), isSynced: false)
        let (entries, leftOut) = try ConfigurationReader.understoodEntries(ofFile: path)
        #expect(
            entries.map { "\($0.section).\($0.key)=\($0.value) \($0.line)" } == ["routing.retryBaseMs=200 3"])
        #expect(leftOut.map(\.line) == [2])
    }

    @Test func `the former section of baresip is refused and names its replacement`() throws {
        let error = try #require(refusal("[provider baresip]\n#enabled = no\nport = 4444\n"))
        #expect(error.line == 3)
        for part in [
            "[provider baresip] port: btcall-baresip follows baresip", "/etc/btcall/baresip.conf",
            "btcall-baresip.service",
        ] {
            #expect("\(error)".contains(part), "\(error)")
        }
        // As in the example of earlier versions.
        #expect(refusal("[provider baresip]\n#enabled = no\n") == nil)
    }

    @Test func `the former section of the metrics is refused and names its replacement`() throws {
        let error = try #require(refusal("[metrics]\nport = 9464\n"))
        #expect(error.line == 2)
        for part in [
            "[metrics] port: btcall-web serves the metrics, not btcalld", "delete the section, install btcall-web",
            "http://127.0.0.1:8460/metrics", "btcall daemon metrics",
        ] {
            #expect("\(error)".contains(part), "\(error)")
        }
        // As in the example of earlier versions.
        #expect(refusal("[metrics]\n#port = 0\n") == nil)
    }

    @Test func `refuses a device without any direction`() throws {
        let error = try #require(refusal("[device earpiece]\nmixer = Headphone\n"))
        #expect(error.problem == "has neither playback nor capture")
    }

    @Test func `refuses a volume without a mixer control`() throws {
        let error = try #require(refusal("[device earpiece]\nplayback = hw:0\nvolume = 30\n"))
        #expect("\(error)".contains("[device earpiece] volume: has no mixer control to set; name one as well"))
    }

    @Test func `a missing file is refused with a remedy`() throws {
        let error = try #require(throws: ConfigurationError.self) {
            try Configuration(file: "/nonexistent/btcalld.conf")
        }
        #expect("\(error)".contains("No such file or directory"))
        #expect(error.accepted.contains("--config"))
    }

    @Test(arguments: [
        ("memory", "1"), ("memory", "0:110"), ("memory", "100:110"), ("memory", "1:110, 1:112"),
        ("memory", "1:a\"b"),
        ("memory", "1:"), ("memory", ","), ("ownNumber", "x"), ("ownNumber", String(repeating: "1", count: 33)),
    ])
    func `An invalid memory or number is refused with what is accepted`(key: String, value: String) throws {
        let text = "[calls]\n\n\(key) = \(value)\n"
        let error = #expect(throws: ConfigurationError.self) {
            _ = try Configuration(text: text, name: "test.conf")
        }
        let message = try "\(#require(error))"
        #expect(message.contains(key == "memory" ? "1:5551000, 2:110" : "at most 32 digits"))
        #expect(message.contains("test.conf:3"))
    }
}

@Suite struct PreferenceStoreTests {
    private let directory = "/tmp/btcall-test-\(UInt64.random(in: 0 ..< .max))"

    @Test func `keeps preferences over a restart`() throws {
        let store = PreferenceStore(directory: directory)
        #expect(try store.load().preferences == PreferenceStore.Preferences())
        let preferences = PreferenceStore.Preferences(preferred: "bluetooth", standard: "earpiece")
        try store.file.replace(with: PreferenceStore.text(preferences))
        #expect(try PreferenceStore(directory: directory).load().preferences == preferences)
        let other = PreferenceStore.Preferences(preferred: "none")
        try store.file.replace(with: PreferenceStore.text(other))
        let (read, leftOut) = try store.load()
        #expect(read == other && leftOut.isEmpty)
    }

    @Test func `names the directory that cannot be written`() throws {
        let store = PreferenceStore(directory: "/proc/btcall")
        let error = try #require(throws: SystemError.self) { try store.file.replace(with: "") }
        let failure = PreferenceStore.Failure(path: store.file.path, error: error)
        #expect("\(failure)".contains("/proc/btcall"))
        #expect("\(failure)".contains("stateDirectory"))
    }
}
