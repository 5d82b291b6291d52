import ArgumentParser
import BTCall
import BTCallAPI
import BluetoothTypes
import CommandTestSupport
import ControlLoop
import DBus
import Foundation
import TestSupport
import Testing

@testable import BTCallCommand

@Suite(.timeLimit(.minutes(1))) struct SettingVerbTests {
    let bus: PrivateBus
    let daemon: FakeDaemon

    init() async throws {
        bus = try PrivateBus()
        daemon = try await FakeDaemon(bus.address)
        await prepare { daemon in
            daemon.settings = [
                Self.setting("daemon.logLevel", "info", "info", "trace, debug", .now),
                Self.setting("routing.exclude", "", "", "a list of devices", .now),
                Self.setting("routing.headsetOrder", "", "", "a list of addresses", .now),
                Self.setting("routing.openTimeoutMilliseconds", "5000", "5000", "0 to 3600000", .reopen),
                Self.setting("audio.callQueueBlocks", "3", "3", "2 to 6", .nextCall),
                Self.setting("device.earpiece.playback", "hw:0,0", "", "a name", .restart, .file),
                Self.setting("device.speakerphone.playback", "", "", "a name", .restart),
            ]
        }
    }

    private static func setting(
        _ key: String, _ value: String, _ standard: String, _ accepted: String, _ effect: SettingDescription.Effect,
        _ origin: SettingDescription.Origin = .default
    ) -> SettingDescription {
        SettingDescription(
            key: key, value: value, defaultValue: standard, accepted: accepted, effect: effect, origin: origin,
            summary: "What \(key) means.")
    }

    @ControlPlane private func prepare(_ change: @ControlPlane (FakeDaemon) -> Void) { change(daemon) }

    @Test func `config is a table of all keys with the time when each acts`() async throws {
        let run = try await CommandRun.btcall("config", bus: bus)
        #expect(
            run.output == """
                KEY                              VALUE   DEFAULT  ACTS          ORIGIN
                daemon.logLevel                  info    info     at once       default
                routing.exclude                  -       -        at once       default
                routing.headsetOrder             -       -        at once       default
                routing.openTimeoutMilliseconds  5000    5000     on reopening  default
                audio.callQueueBlocks            3       3        next call     default
                device.earpiece.playback         hw:0,0  -        restart       file
                device.speakerphone.playback     -       -        restart       default

                """)
        let array = try await CommandRun.btcall("config", "--json", bus: bus).array
        #expect(array.count == 7)
        #expect(Set(array[1].keys) == ["key", "value", "default", "accepted", "effect", "origin", "summary"])
        #expect(array[1]["value"] is NSNull && array[3]["effect"] as? String == "reopen")
    }

    @Test(arguments: ["device.earpiece", "[device earpiece]"])
    func `config SECTION shows one section`(section: String) async throws {
        let run = try await CommandRun.btcall("config", section, bus: bus)
        #expect(
            run.output == """
                KEY                       VALUE   DEFAULT  ACTS     ORIGIN
                device.earpiece.playback  hw:0,0  -        restart  file

                """)
        let array = try await CommandRun.btcall("config", section, "--json", bus: bus).array
        #expect(array.map { $0["key"] as? String } == ["device.earpiece.playback"])
    }

    @Test func `config --changed shows what differs from the defaults`() async throws {
        func keys(_ arguments: String...) async throws -> [String?] {
            let words = ["config", "--changed", "--json"] + arguments
            return try await Self.run(words, bus).array.map { $0["key"] as? String }
        }
        _ = try await CommandRun.btcall("config", "callQueueBlocks", "4", bus: bus)
        #expect(try await keys() == ["audio.callQueueBlocks", "device.earpiece.playback"])
        #expect(try await keys("audio") == ["audio.callQueueBlocks"])
        #expect(try await keys("routing") == [])
        let none = try await CommandRun.btcall("config", "routing", "--changed", bus: bus)
        #expect(none.output == "Every key of this section has its default.\n" && none.status == 0)
        let wrong = try await CommandRun.btcall("config", "routng", "--changed", bus: bus)
        #expect(wrong.errors == "btcall: there is no section routng; did you mean routing?\n" && wrong.status == 1)
        let both = #expect(throws: (any Error).self) { try Entry.parseAsRoot(["config", "audio", "1", "--changed"]) }
        #expect(both.map { Entry.message(for: $0).contains("--changed only shows") } == true)
    }

    @Test func `config accepts an earlier name of a key, and says so`() async throws {
        for name in ["openTimeoutMs", "routing.openTimeoutMs"] {
            let run = try await CommandRun.btcall("config", name, "4000", bus: bus)
            #expect(run.output.hasPrefix("routing.openTimeoutMilliseconds = 4000"))
            #expect(run.errors == "btcall: \(name) is now called routing.openTimeoutMilliseconds\n")
        }
    }

    @Test func `config KEY shows it with its accepted values`() async throws {
        #expect(
            try await CommandRun.btcall("config", "openTimeoutMilliseconds", bus: bus).output == """
                routing.openTimeoutMilliseconds: What routing.openTimeoutMilliseconds means.
                Value     5000
                Default   5000
                Accepted  0 to 3600000
                Acts      on reopening
                Origin    default

                """)
        let object = try await CommandRun.btcall("config", "device.earpiece.playback", "--json", bus: bus).object
        #expect(object["value"] as? String == "hw:0,0" && object["default"] is NSNull)
        #expect(object["origin"] as? String == "file")
    }

    @Test func `config KEY VALUE sets it and says when the change acts`() async throws {
        func run(_ arguments: String...) async throws -> String {
            let run = try await Self.run(["config"] + arguments, bus)
            return run.output + run.errors
        }
        #expect(try await run("logLevel", "debug") == "daemon.logLevel = debug (set here): acts at once\n")
        #expect(
            try await run("routing.openTimeoutMilliseconds", "4000")
                == "routing.openTimeoutMilliseconds = 4000 (set here): "
                + "acts when the headset's link or the sound card is next opened\n")
        #expect(
            try await run("callQueueBlocks", "4") == "audio.callQueueBlocks = 4 (set here): acts with the next call\n")
        #expect(
            try await run("callQueueBlocks", "--reset")
                == "audio.callQueueBlocks = 3 (default): acts with the next call\n")
        #expect(try await run("exclude", "") == "routing.exclude = - (set here): acts at once\n")
        #expect(
            try await run("exclude", "radio")
                == "btcall: routing.exclude: \"radio\" is not accepted; accepted: a list of devices\n")
        #expect(
            await daemon.requests == [
                "SetSetting daemon.logLevel debug", "SetSetting routing.openTimeoutMilliseconds 4000",
                "SetSetting audio.callQueueBlocks 4", "ResetSetting audio.callQueueBlocks",
                "SetSetting routing.exclude ", "SetSetting routing.exclude radio",
            ])
        let object = try await CommandRun.btcall("config", "exclude", "earpiece", "--json", bus: bus).object
        #expect(object["value"] as? String == "earpiece" && object["origin"] as? String == "runtime")
    }

    @Test(arguments: [
        ("exclud", "there is no key exclud; did you mean routing.exclude?"),
        ("headsetorder", "there is no key headsetorder; did you mean routing.headsetOrder?"),
        ("timeout", "there is no key timeout; did you mean routing.openTimeoutMilliseconds?"),
        ("zebra", "there is no key zebra; `btcall config` lists all"),
        (
            "playback",
            "playback is a key of several sections: device.earpiece.playback, device.speakerphone.playback"
        ),
    ])
    func `An unknown key is answered with the closest names`(key: String, message: String) async throws {
        let run = try await CommandRun.btcall("config", key, "1", bus: bus)
        #expect(run.status == 1 && run.errors == "btcall: \(message)\n")
        #expect(await daemon.requests.isEmpty)
    }

    @Test func `exclude adds, removes, clears and lists`() async throws {
        #expect(try await CommandRun.btcall("exclude", bus: bus).output == "nothing is excluded\n")
        let added = try await Self.run(["exclude", "bluetooth", "earpiece", "bluetooth"], bus)
        #expect(added.output == "excluded: bluetooth, earpiece\n")
        let removed = try await Self.run(["exclude", "--remove", "bluetooth", "speakerphone"], bus)
        #expect(removed.output == "excluded: earpiece\n")
        #expect(
            try await CommandRun.btcall("exclude", "--json", bus: bus).object["exclude"] as? [String] == ["earpiece"])
        #expect(try await CommandRun.btcall("exclude", "--clear", bus: bus).output == "nothing is excluded\n")
        #expect(
            await daemon.requests == [
                "SetSetting routing.exclude bluetooth, earpiece", "SetSetting routing.exclude earpiece",
                "SetSetting routing.exclude ",
            ])
    }

    @Test func `order accepts addresses and names, and says which headset is which`() async throws {
        func headset(_ value: UInt64, _ name: String) -> DeviceDescription {
            DeviceDescription(device: .headset(BluetoothAddress(value: value)), name: name, isAvailable: true)
        }
        await prepare {
            $0.router.devices = [
                headset(0x5E00_5301, "Jabra"), headset(0x5E00_5302, "Twin"), headset(0x5E00_5303, "Twin"),
            ]
        }
        #expect(
            try await CommandRun.btcall("order", bus: bus).output
                == "no order: the headset that connected last comes first\n")
        let set = try await Self.run(["order", "00:00:5e:00:53:02", "jabra", "bluetooth:00:00:5E:00:53:09"], bus)
        #expect(
            set.output == """
                1  00:00:5E:00:53:02  Twin
                2  00:00:5E:00:53:01  Jabra
                3  00:00:5E:00:53:09

                """)
        let order = try await CommandRun.btcall("order", "--json", bus: bus).object["order"] as? [String]
        #expect(order == ["00:00:5E:00:53:02", "00:00:5E:00:53:01", "00:00:5E:00:53:09"])
        let refusals = [
            (
                "Twin",
                "several headsets are named Twin: 00:00:5E:00:53:02 (Twin), 00:00:5E:00:53:03 (Twin): give the address"
            ),
            (
                "Sony",
                "there is no headset Sony: known are 00:00:5E:00:53:01 (Jabra), "
                    + "00:00:5E:00:53:02 (Twin), 00:00:5E:00:53:03 (Twin)"
            ),
        ]
        for (name, message) in refusals {
            let run = try await Self.run(["order", name], bus)
            #expect(run.status == 1 && run.errors == "btcall: \(message)\n")
        }
        let twice = try await Self.run(["order", "Jabra", "00:00:5E:00:53:01"], bus)
        #expect(twice.errors == "btcall: 00:00:5E:00:53:01 is named twice\n")
        #expect(try await CommandRun.btcall("order", "--clear", bus: bus).output.hasPrefix("no order"))
        #expect(await daemon.requests.count == 2)
    }

    // MARK: Holds while a program runs

    @Test func `interrupt, session activate and select hold while the program runs, and return its exit code`()
        async throws
    {
        await prepare { $0.router.isStarted = true }
        let commands = [
            (["interrupt", "page", "--", "true"], "Interrupt page", 0),
            (["interrupt", "alarm", "--no-resume", "--", "sh", "-c", "exit 7"], "Interrupt alarm no-resume", 7),
            (["session", "activate", "--", "sh", "-c", "kill -9 $$"], "Activate", 137),
            (["select", "earpiece", "--", "false"], "AcquireSelection earpiece", 1),
            (["select", "earpiece", "--", "/nonexistent/program"], "AcquireSelection earpiece", 127),
        ]
        for (arguments, request, status) in commands {
            let run = try await Self.run(arguments, bus)
            #expect(run.status == Int32(status), "\(arguments)")
            let word = request.split(separator: " ")[0]
            try await eventually("\(word) is released") { daemon.requests.last == "\(word) released" }
            #expect(await daemon.requests.suffix(2).first == request)
        }
        #expect(await daemon.held.isEmpty)
    }

    @Test func `The program runs only while the hold lasts`() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "btcall-held-\(UUID().uuidString)").path()
        defer { try? FileManager.default.removeItem(atPath: file) }  // A file in the temporary directory may stay.
        let script = "until [ -e \"$0\" ]; do sleep 0.01; done"
        let run = Task { try await Self.run(["interrupt", "page", "--", "sh", "-c", script, file], bus) }
        try await eventually("it is held") { daemon.held.map(\.name) == ["Interrupt"] }
        #expect(FileManager.default.createFile(atPath: file, contents: nil))
        #expect(try await run.value.status == 0)
        try await eventually("it is released") { daemon.held.isEmpty }
    }

    @Test func `A refused hold runs nothing`() async throws {
        let run = try await Self.run(["select", "earpiece", "--", "/nonexistent/program"], bus)
        #expect(run.status == 1)
        #expect(run.errors == "btcall: the router is stopped: `btcall daemon routing on` starts it\n")
    }

    @Test func `session status says whether calls have audio`() async throws {
        #expect(
            try await CommandRun.btcall("session", "status", bus: bus).output
                == "not active; calls have audio without it (manualAudio is off)\n")
        await prepare { $0.isManual = true }
        #expect(
            try await CommandRun.btcall("session", bus: bus).output == "not active: calls have no audio\n")
        let object = try await CommandRun.btcall("session", "status", "--json", bus: bus).object
        #expect(object["sessionActive"] as? Bool == false && object["manual"] as? Bool == true)
    }

    @Test func `status says who interrupts`() async throws {
        await prepare { $0.router.interruptions = ["page", "suspend"] }
        let run = try await CommandRun.btcall("status", bus: bus)
        #expect(run.output.contains("Interrupted  by page, suspend\n"))
        let object = try await CommandRun.btcall("status", "--json", bus: bus).object
        #expect(object["interruptions"] as? [String] == ["page", "suspend"])
    }

    private static func run(_ arguments: [String], _ bus: PrivateBus) async throws -> CommandRun {
        try await CommandRun.btcall(arguments, bus: bus)
    }
}
