import BTCall
import BTCallAPI
import BluetoothTypes
import CommandKit
import CommandTestSupport
import ControlLoop
import DBus
import Foundation
import Testing

@testable import BTCallCommand

@Suite(.timeLimit(.minutes(1))) struct VerbTests {
    let bus: PrivateBus
    let daemon: FakeDaemon

    init() async throws {
        bus = try PrivateBus()
        daemon = try await FakeDaemon(bus.address)
    }

    private static let headset = DeviceDescription(
        device: .headset(BluetoothAddress(value: 0xAABB_CCDD_EE0F)), name: "Jabra", isAvailable: true,
        output: "sco:AA:BB:CC:DD:EE:0F", input: "sco:AA:BB:CC:DD:EE:0F", battery: 80, codecs: ["mSBC", "CVSD"],
        category: "headset")
    private static let earpiece = DeviceDescription(
        device: .earpiece, name: "Handset", isAvailable: false, unavailableBecause: "the sound card is busy")
    private static let ringing = CallDescription(
        id: "6ba7b810-9dad-11d1-80b4-00c04fd430c8", state: .ringing, direction: .incoming, number: "5550100",
        provider: "phone", index: 1)
    private static let active = CallDescription(
        id: "7ba7b810-9dad-11d1-80b4-00c04fd430c8", state: .active, direction: .outgoing, name: "Alice",
        provider: "phone", index: 2, startedAt: 1_700_000_000_123)

    @ControlPlane private func prepare(_ change: @ControlPlane (FakeDaemon) -> Void) { change(daemon) }

    @Test func `status --json has every key, null for missing values`() async throws {
        await prepare { daemon in
            daemon.router = RouterState(isStarted: true, preferred: .bluetooth, defaultDevice: .earpiece)
            daemon.addCall(Self.ringing)
        }
        let run = try await CommandRun.btcall("status", "--json", bus: bus)
        #expect(
            run.output == """
                {
                  "state": "active",
                  "version": "test",
                  "started": true,
                  "route": null,
                  "pending": null,
                  "mode": null,
                  "codec": null,
                  "preferred": "bluetooth",
                  "fallback": "earpiece",
                  "selected": null,
                  "reason": null,
                  "muted": false,
                  "microphoneEnabled": true,
                  "interruptions": [],
                  "calls": [
                    {
                      "call": "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
                      "state": "ringing",
                      "callStatus": "ringing",
                      "direction": "incoming",
                      "number": "5550100",
                      "name": null,
                      "provider": "phone",
                      "index": 1,
                      "startedAt": null,
                      "accountId": null,
                      "userId": null,
                      "icon": null
                    }
                  ],
                  "problems": []
                }

                """)
        #expect(run.status == 0)
    }

    @Test func `status prints the route, the calls and what to do about problems`() async throws {
        await prepare { daemon in
            daemon.router = RouterState(
                isStarted: true, preferred: .bluetooth, activeRoute: Self.headset.device, mode: "hfp", codec: "mSBC",
                reason: "newDeviceAvailable", devices: [Self.headset])
            daemon.manager.problems = [.init(id: "adapter", what: "no Bluetooth adapter", remedy: "plug one in")]
            daemon.addCall(Self.active)
        }
        let run = try await CommandRun.btcall("status", bus: bus)
        #expect(
            run.output == """
                Route       Jabra (bluetooth:AA:BB:CC:DD:EE:0F) by HFP, mSBC (newDeviceAvailable)
                Microphone  on
                Calls       1
                  outgoing, active: Alice, by phone
                Problems
                  no Bluetooth adapter: plug one in
                Settings
                  Preferred  bluetooth
                  Fallback   –
                  Chosen     –

                """)
    }

    @Test func `Without a call status prints the device for the next one, with the verb that chose it`() async throws {
        await prepare { daemon in
            daemon.router = RouterState(
                isStarted: true, preferred: .bluetooth, defaultDevice: .earpiece,
                devices: [Self.headset, Self.earpiece])
            daemon.router.selected = .bluetooth
            daemon.explanation.levels = [
                .init(name: "explicit choice", verdict: "not set"),
                .init(name: "preferred", spec: "bluetooth", verdict: "away"),
                .init(name: "default", spec: "earpiece", candidate: "earpiece", verdict: "eligible", isEligible: true),
                .init(name: "platform order", candidate: "earpiece", verdict: "eligible", isEligible: true),
            ]
        }
        #expect(
            try await CommandRun.btcall("status", bus: bus).output == """
                Would use   earpiece (fallback)
                Microphone  on
                Calls       none
                Settings
                  Preferred  bluetooth
                  Fallback   earpiece
                  Chosen     –

                """)
        await prepare { daemon in
            daemon.explanation.levels = [
                .init(
                    name: "preferred", spec: "bluetooth", candidate: "bluetooth:AA:BB:CC:DD:EE:0F", verdict: "eligible",
                    isEligible: true)
            ]
        }
        #expect(
            try await CommandRun.btcall("status", bus: bus).output
                .hasPrefix("Would use   Jabra, bluetooth:AA:BB:CC:DD:EE:0F (preferred)\n"))
        await prepare { daemon in
            daemon.explanation.levels = []
            daemon.router.devices = []
        }
        let nothing = try await CommandRun.btcall("status", bus: bus).output
        #expect(nothing.hasPrefix("Would use   nothing: no device can be used, see `btcall devices`\n"))
        #expect(nothing.contains("  Fallback   earpiece, which is not available\n"))
    }

    @Test func `status reports a disabled microphone as off`() async throws {
        await prepare { $0.audioProperties["MicrophoneEnabled"] = .bool(false) }
        #expect(
            try await CommandRun.btcall("status", bus: bus).output
                .contains("Microphone  off for all calls: `btcall mic on`\n"))
        await prepare { daemon in
            daemon.audioProperties["MicrophoneEnabled"] = .bool(true)
            daemon.isMuted = true
        }
        #expect(
            try await CommandRun.btcall("status", bus: bus).output.contains("Microphone  muted: `btcall mute off`\n"))
    }

    @Test func `A verb that sets something shows it without a value`() async throws {
        await prepare { daemon in
            daemon.router = RouterState(isStarted: true, preferred: .bluetooth)
            daemon.explanation.levels = [.init(name: "explicit choice", spec: "earpiece")]
            daemon.isMuted = true
        }
        for (verb, shown) in [
            (["prefer"], "preferred: bluetooth"), (["fallback"], "no fallback device"), (["move"], "chosen: earpiece"),
            (["mute"], "muted"), (["daemon", "routing"], "started"), (["dnd"], "incoming calls ring"),
        ] {
            let run = try await CommandRun.btcall(verb, bus: bus)
            #expect(run.status == 0 && run.output == shown + "\n", "\(verb)")
        }
        #expect(
            try await CommandRun.btcall("mic", "mode", bus: bus).output.contains("mute mode       voiceProcessing\n"))
        #expect(try await CommandRun.btcall("processing", "echo", bus: bus).output.contains("Echo        on\n"))
        #expect(await daemon.requests.isEmpty)
    }

    @Test func `devices --json is an array with every key`() async throws {
        await prepare { $0.router.devices = [Self.headset, Self.earpiece] }
        let devices = try await CommandRun.btcall("devices", "--json", bus: bus).array
        try #require(devices.count == 2)
        let keys: Set = [
            "device", "kind", "address", "name", "available", "unavailableBecause", "output", "input", "battery",
            "speakerVolume", "microphoneVolume", "microphoneMuted", "powerSource", "enhancedSafety", "codecs",
            "category", "state", "mode", "duplex", "rates", "inbandRing",
            "speakerVolumeMax", "microphoneVolumeMax", "codecReason", "mediaState", "mediaCodec", "mediaVolume",
            "reconnect",
        ]
        #expect(Set(devices[0].keys) == keys && Set(devices[1].keys) == keys)
        #expect(devices[0]["battery"] as? Int == 80)
        #expect(devices[0]["device"] as? String == "bluetooth:AA:BB:CC:DD:EE:0F")
        #expect(devices[0]["codecs"] as? [String] == ["mSBC", "CVSD"])
        #expect(devices[0]["unavailableBecause"] is NSNull)
        #expect(devices[1]["unavailableBecause"] as? String == "the sound card is busy")
        #expect(devices[1]["address"] is NSNull && devices[1]["battery"] is NSNull && devices[1]["output"] is NSNull)
    }

    @Test func `devices is a table for people`() async throws {
        await prepare { $0.router.devices = [Self.headset, Self.earpiece] }
        let run = try await CommandRun.btcall("devices", bus: bus)
        #expect(
            run.output == """
                DEVICE                       NAME     AVAILABLE                   OUTPUT  INPUT  BATTERY  CODECS
                bluetooth:AA:BB:CC:DD:EE:0F  Jabra    yes                         sco     sco    80 %     mSBC, CVSD
                earpiece                     Handset  no: the sound card is busy  -       -      -        -

                """)
    }

    @Test func `devices prints a device's state for calls`() async throws {
        var headset = Self.headset
        headset.state = "settling"
        await prepare { [headset] in $0.router.devices = [headset] }
        #expect(try await CommandRun.btcall("devices", bus: bus).output.contains("  yes, settling  "))
    }

    @Test func `prefer, default, start and stop reach the daemon and print the new state`() async throws {
        #expect(try await CommandRun.btcall("prefer", "bluetooth", bus: bus).output == "preferred: bluetooth\n")
        #expect(
            try await CommandRun.btcall("default", "none", bus: bus).output == "no fallback device\n")
        #expect(try await CommandRun.btcall("start", "--json", bus: bus).object["started"] as? Bool == true)
        let router = await daemon.router
        #expect(router.preferred == .bluetooth && router.defaultDevice == .none && router.isStarted)
        #expect(try await CommandRun.btcall("stop", bus: bus).status == 0)
        #expect(await daemon.router.isStarted == false)
    }

    @Test func `select moves the call, --clear withdraws it, and a refusal is printed with what to do`() async throws {
        let refused = try await CommandRun.btcall("select", "earpiece", bus: bus)
        #expect(refused.status == 1)
        #expect(refused.errors == "btcall: the router is stopped: `btcall daemon routing on` starts it\n")
        await prepare { $0.router.isStarted = true }
        #expect(try await CommandRun.btcall("select", "earpiece", bus: bus).output == "chosen: earpiece\n")
        #expect(try await CommandRun.btcall("select", "--clear", bus: bus).output == "no device is chosen\n")
        #expect(await daemon.requests == ["Select earpiece", "Select earpiece", "ClearSelection"])
    }

    @Test func `answer acts on the ringing call, hangup on the active one`() async throws {
        await prepare { daemon in
            daemon.addCall(Self.active)
            daemon.addCall(Self.ringing)
        }
        #expect(try await CommandRun.btcall("answer", bus: bus).output == "answered: 5550100\n")
        #expect(try await CommandRun.btcall("answer", bus: bus).errors == "btcall: no call rings\n")
        let ambiguous = try await CommandRun.btcall("hangup", bus: bus)
        #expect(ambiguous.status == 1)
        #expect(ambiguous.errors.hasPrefix("btcall: more than one call is active: name one: 2 (Alice, 7ba7b810"))
        let ended = try await CommandRun.btcall("hangup", "6ba7", "--json", bus: bus)
        #expect(ended.object["call"] as? String == Self.ringing.id)
        #expect(try await CommandRun.btcall("hangup", "2", bus: bus).output == "ended: Alice\n")
        #expect(try await CommandRun.btcall("hangup", bus: bus).errors == "btcall: there is no call\n")
        #expect(try await CommandRun.btcall("hangup", "9", bus: bus).errors == "btcall: there is no call 9\n")
    }

    @Test func `hangup --all ends every call, names each, and takes no call`() async throws {
        #expect(try await CommandRun.btcall("hangup", "--all", bus: bus).output == "no calls\n")
        await prepare { daemon in
            daemon.addCall(Self.active)
            daemon.addCall(Self.ringing)
        }
        await #expect(throws: (any Error).self) { try await CommandRun.btcall("hangup", "1", "--all", bus: bus) }
        let ended = try await CommandRun.btcall("hangup", "--all", bus: bus)
        #expect(ended.output.split(separator: "\n").sorted() == ["ended: 5550100", "ended: Alice"])
        #expect(try await CommandRun.btcall("calls", bus: bus).output == "no calls\n")
    }

    @Test func `calls lists them with ISO 8601 times`() async throws {
        #expect(try await CommandRun.btcall("calls", bus: bus).output == "no calls\n")
        await prepare { $0.addCall(Self.active) }
        let calls = try await CommandRun.btcall("calls", "--json", bus: bus).array
        #expect(calls.first?["startedAt"] as? String == "2023-11-14T22:13:20.123Z")
        #expect(calls.first?["number"] is NSNull)
        let table = try await CommandRun.btcall("calls", bus: bus).output
        #expect(table.hasPrefix("CALL  STATE   DIRECTION  PARTY  PROVIDER  TIME"))
    }

    @Test func `mute sets the property`() async throws {
        #expect(try await CommandRun.btcall("mute", "on", bus: bus).output == "muted\n")
        #expect(await daemon.isMuted)
        #expect(try await CommandRun.btcall("mute", "off", "--json", bus: bus).object["muted"] as? Bool == false)
        #expect(await daemon.isMuted == false)
    }

    @Test func `why prints the daemon's lines, and the levels as JSON`() async throws {
        await prepare {
            $0.explanation = ExplanationDescription(
                chosen: .earpiece, level: "default", reason: "linkSilent",
                levels: [
                    .init(name: "preferred", spec: "bluetooth", verdict: "settling", value: "0.4 s", limit: "1 s")
                ],
                next: .init(action: "mayTakeCall", device: "bluetooth:AA:BB:CC:DD:EE:0F", remaining: 600),
                text: ["earpiece, by default", "preferred: settling"])
        }
        #expect(
            try await CommandRun.btcall("why", bus: bus).output == "earpiece, by default\npreferred: settling\n")
        let object = try await CommandRun.btcall("why", "--json", bus: bus).object
        #expect(object["device"] as? String == "earpiece")
        let level = try #require((object["levels"] as? [[String: Any]])?.first)
        #expect(Set(level.keys) == ["name", "spec", "candidate", "verdict", "eligible", "value", "limit"])
        #expect(level["candidate"] is NSNull)
        #expect(level["limit"] as? String == "1 s")
        let next = try #require(object["next"] as? [String: Any])
        #expect(next["action"] as? String == "mayTakeCall")
        #expect(next["remainingMilliseconds"] as? Int == 600)
    }

    @Test func `why --at asks for that time, why for now`() async throws {
        await prepare { $0.explanation.text = ["earpiece, by default"] }
        let run = try await CommandRun.btcall("why", "--at", "2025-03-01T17:04:05.678Z", bus: bus)
        #expect(run.output == "earpiece, by default\n")
        #expect(await daemon.options == ["time": .int64(1_740_848_645_678)])
        _ = try await CommandRun.btcall("why", bus: bus)
        #expect(await daemon.options == [:])
    }

    @Test func `incident prints the file unchanged, with real addresses only on request`() async throws {
        await prepare { $0.incident = "{\"format\": \"btcall-scenario/1\"}\n" }
        #expect(try await CommandRun.btcall("incident", bus: bus).output == "{\"format\": \"btcall-scenario/1\"}\n")
        #expect(await daemon.options == ["addresses": .bool(false)])
        _ = try await CommandRun.btcall("incident", "--addresses", bus: bus)
        #expect(await daemon.options == ["addresses": .bool(true)])
    }

    @Test func `monitor --json is one object a line with event and time`() async throws {
        let capture = Capture()
        let address = bus.address
        let monitor = Task { @ControlPlane in
            let command = try CommandRun.parse(["monitor", "--json", "--bus", address])
            try await command.perform(on: try await CallBridge(bus: command.options.bus), capture.sink)
        }
        await capture.contains("daemonAppeared")
        await prepare { daemon in
            daemon.update { $0.pending = .bluetooth }
            daemon.bus.emit(
                path: BTCallPath.router, interface: BTCallName.Interface.router, member: "RouteChanged",
                ["none", "earpiece", "callStarted"])
            daemon.addCall(Self.ringing)
            daemon.bus.close()
        }
        await capture.contains("daemonVanished")
        monitor.cancel()
        let lines = try capture.output.split(separator: "\n").map {
            try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
        }
        let words = lines.map { $0["event"] as? String }
        #expect(words == ["daemonAppeared", "setting", "routeChanged", "callAdded", "daemonVanished"])
        for line in lines {
            let time = try #require(line["time"] as? String)
            #expect(time.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/) != nil)
        }
        try #require(lines.count == 5)
        #expect(lines[1]["name"] as? String == "pending" && lines[1]["value"] as? String == "bluetooth")
        #expect(lines[2]["old"] is NSNull && lines[2]["new"] as? String == "earpiece")
        #expect(lines[2]["reason"] as? String == "callStarted")
        #expect(lines[3]["state"] as? String == "ringing")
    }
}
