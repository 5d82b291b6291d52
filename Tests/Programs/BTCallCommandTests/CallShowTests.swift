import BTCallAPI
import BluetoothTypes
import CommandTestSupport
import ControlLoop
import DBus
import Testing

@testable import BTCallCommand

@Suite(.timeLimit(.minutes(1))) struct CallShowTests {
    let bus: PrivateBus
    let daemon: FakeDaemon

    init() async throws {
        bus = try PrivateBus()
        daemon = try await FakeDaemon(bus.address)
    }

    private static var headset: DeviceWord { .headset(BluetoothAddress(value: 0xAABB_CCDD_EE0F)) }

    private static var active: CallDescription {
        var call = CallDescription(
            id: "7ba7b810-9dad-11d1-80b4-00c04fd430c8", state: .active, direction: .outgoing, name: "Alice",
            provider: "phone", index: 2, startedAt: 1_700_000_000_123)
        call.ssrcs = [7, 4_294_967_295]
        call.link = CallLinkDescription(device: headset, handle: 42, codec: "mSBC", packetBytes: 60)
        var quality = QualityDescription()
        quality.score = 63
        quality.durationMs = 5_000
        quality.packets = 633
        quality.lost = 33
        quality.concealedMs = 250
        quality.jitterMs = 0.25
        call.quality = quality
        quality.score = 91
        quality.durationMs = 187_400
        quality.gaps = 1
        quality.retries = 2
        quality.droppedMs = 12
        quality.driftPPM = -3.4
        quality.xruns = 4
        call.totalQuality = quality
        return call
    }

    private static let ringing = CallDescription(
        id: "6ba7b810-9dad-11d1-80b4-00c04fd430c8", state: .ringing, direction: .incoming, number: "5550100",
        provider: "phone", index: 1)

    @ControlPlane private func prepare(_ calls: CallDescription...) {
        daemon.router = RouterState(
            isStarted: true, preferred: .bluetooth, activeRoute: Self.headset, mode: "hfp", codec: "mSBC",
            reason: "newDeviceAvailable")
        for call in calls { daemon.addCall(call) }
    }

    @Test func `call show prints the route, the link and the parts of the quality`() async throws {
        await prepare(Self.ringing, Self.active)
        let run = try await CommandRun.btcall("call", "show", bus: bus)
        let lines = run.output.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        #expect(run.status == 0)
        #expect(
            lines.prefix(3) == [
                "Call      2, outgoing, active: Alice", "Id        7ba7b810-9dad-11d1-80b4-00c04fd430c8",
                "Provider  phone",
            ])
        #expect(lines.dropFirst(3).first?.hasPrefix("Time      ") == true)
        #expect(
            lines.dropFirst(4).joined(separator: "\n") == """
                Route     bluetooth:AA:BB:CC:DD:EE:0F by HFP, mSBC (newDeviceAvailable)
                Link      bluetooth:AA:BB:CC:DD:EE:0F, mSBC, packets of 60 bytes, handle 42
                SSRCs     7, 4294967295
                Quality   63

                QUALITY       LAST 5 s           WHOLE 187 s
                score         63                 91
                lost          33 of 666 packets  33 of 666 packets
                concealed     250 ms             250 ms
                dropped here  0 ms               12 ms
                gaps          0                  1
                jitter        0.25 ms            0.25 ms
                drift         0 ppm              -3 ppm
                retries       0                  2
                xruns         0                  4

                """)
        #expect(try await CommandRun.btcall("call", "show", "7ba7", bus: bus).output.hasPrefix("Call      2,"))
    }

    @Test func `call show --json has every key`() async throws {
        await prepare(Self.active)
        let run = try await CommandRun.btcall("call", "show", "2", "--json", bus: bus)
        #expect(
            run.output == """
                {
                  "call": "7ba7b810-9dad-11d1-80b4-00c04fd430c8",
                  "state": "active",
                  "callStatus": "inCall",
                  "direction": "outgoing",
                  "number": null,
                  "name": "Alice",
                  "provider": "phone",
                  "index": 2,
                  "startedAt": "2023-11-14T22:13:20.123Z",
                  "accountId": null,
                  "userId": null,
                  "icon": null,
                  "route": "bluetooth:AA:BB:CC:DD:EE:0F",
                  "mode": "hfp",
                  "reason": "newDeviceAvailable",
                  "ssrcs": [
                    7,
                    4294967295
                  ],
                  "link": {
                    "device": "bluetooth:AA:BB:CC:DD:EE:0F",
                    "handle": 42,
                    "codec": "mSBC",
                    "packetBytes": 60
                  },
                  "quality": {
                    "score": 63,
                    "durationMilliseconds": 5000,
                    "packets": 633,
                    "lost": 33,
                    "concealedMilliseconds": 250,
                    "droppedMilliseconds": 0,
                    "gaps": 0,
                    "jitterMilliseconds": 0.25,
                    "driftPPM": 0.0,
                    "retries": 0,
                    "xruns": 0
                  },
                  "totalQuality": {
                    "score": 91,
                    "durationMilliseconds": 187400,
                    "packets": 633,
                    "lost": 33,
                    "concealedMilliseconds": 250,
                    "droppedMilliseconds": 12,
                    "gaps": 1,
                    "jitterMilliseconds": 0.25,
                    "driftPPM": -3.4,
                    "retries": 2,
                    "xruns": 4
                  },
                  "audioProblem": null,
                  "recording": false,
                  "allowedRoutes": [
                    "speakerphone",
                    "wiredHeadset",
                    "earpiece",
                    "bluetooth"
                  ]
                }

                """)
    }

    @Test func `a call without audio has no link and no quality`() async throws {
        await prepare(Self.ringing)
        let object = try await CommandRun.btcall("call", "show", "--json", bus: bus).object
        #expect(
            object.keys.sorted() == [
                "accountId", "allowedRoutes", "audioProblem", "call", "callStatus", "direction", "icon", "index",
                "link",
                "mode", "name", "number", "provider", "quality", "reason", "recording", "route", "ssrcs", "startedAt",
                "state", "totalQuality", "userId",
            ])
        for key in ["audioProblem", "link", "quality", "totalQuality"] {
            #expect("\(object[key] ?? 0)" == "<null>", "\(key)")
        }
        let lines = try await CommandRun.btcall("call", "show", bus: bus).output
        #expect(lines.contains("Link      none\nQuality   not known\n"))
        #expect(!lines.contains("WHOLE"))
    }

    @Test func `an unknown call, or no call, is refused`() async throws {
        await prepare()
        let none = try await CommandRun.btcall("call", "show", bus: bus)
        #expect(none.status == 1 && none.errors == "btcall: there is no call\n" && none.output.isEmpty)
        await prepare(Self.ringing)
        let wrong = try await CommandRun.btcall("call", "show", "9", bus: bus)
        #expect(wrong.status == 1 && wrong.errors.hasPrefix("btcall: there is no call 9: there are 1 (5550100, "))
    }
}
