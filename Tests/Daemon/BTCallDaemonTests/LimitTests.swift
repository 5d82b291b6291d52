import AudioPaths
import BTCall
import BTCallAPI
import BTCallDaemon
import BTCallSimulator
import BluetoothTypes
import CBTCall
import CallControl
import Configuration
import ControlLoop
import DBus
import Foundation
import Glibc
import HeadsetControl
import TestSupport
import Testing

extension DaemonTests {
    /// Limits of one program's registrations and texts.
    @Suite @ControlPlane struct LimitTests {
        private let calls = BTCallName.Interface.calls

        private func error(
            _ bus: BusConnection, _ path: String, _ interface: String, _ member: String, _ arguments: [Value]
        ) async -> BusError? {
            do throws(BusError) {
                _ = try await bus.call(BTCallName.bus, path, interface, member, arguments)
                return nil
            } catch {
                return error
            }
        }

        private func register(_ bus: BusConnection, _ number: Int, name: String = "x") async -> BusError? {
            await error(
                bus, BTCallPath.calls, calls, BTCallName.Calls.registerProvider,
                [.objectPath("/p\(number)"), .vardict(["name": .string(name)])])
        }

        @Test func `A program has at most eight providers, all programs sixty-four; leaving frees the places`()
            async throws
        {
            try await Box.run { box in
                var programs: [BusConnection] = []
                defer { for program in programs { program.close() } }
                for program in 0..<8 {
                    let bus = try BusConnection(box.address)
                    programs.append(bus)
                    for number in 0..<8 { #expect(await register(bus, number) == nil, "\(program).\(number)") }
                    let ninth = await register(bus, 8)
                    #expect(ninth?.name == "org.btcall.Error.WrongState")
                    #expect(ninth?.message.contains("registered 8 providers, the most for one program") == true)
                    // A second registration of the same path is not a new one.
                    #expect(await register(bus, 0, name: "y") == nil)
                }
                let refused = await register(box.client, 0)
                #expect(refused?.name == "org.btcall.Error.WrongState")
                #expect(refused?.message.contains("64 call providers are registered") == true)
                programs.removeLast().close()
                try await eventually("a place is free again") { await register(box.client, 0) == nil }
                #expect(box.log.containing("left the bus: its calls end").count == 8)
            }
        }

        @Test func `A text that is too long is refused with the limit, wherever it arrives`() async throws {
            try await Box.run { box in
                let registration = try await box.register([.dial, .dtmf])
                _ = try await box.startCall(registration)
                let call = try #require(box.daemon.calls.calls.first).path
                #expect(await register(box.client, 1) == nil)
                func text(_ count: Int) -> Value { .string(String(repeating: "9", count: count)) }
                let path = Value.objectPath("/" + String(repeating: "p", count: 256))
                let own = Value.objectPath("/p1")
                let (callInterface, manager) = (BTCallName.Interface.call, BTCallName.Interface.manager)
                let cases: [(String, String, String, [Value], String)] = [
                    (BTCallPath.calls, calls, "RegisterProvider", [path, .vardict([:])], "at most 256"),
                    (BTCallPath.calls, calls, "RegisterProvider", [own, .vardict(["name": text(129)])], "at most 128"),
                    (BTCallPath.calls, calls, "RegisterContactResolver", [path], "at most 256"),
                    (BTCallPath.session, BTCallName.Interface.session, "RegisterConfigurator", [path], "at most 256"),
                    (BTCallPath.calls, calls, "ReportIncoming", [own, text(129), .vardict([:])], "at most 128"),
                    (
                        BTCallPath.calls, calls, "ReportIncoming", [own, "1", .vardict(["name": text(129)])],
                        "at most 128"
                    ),
                    (
                        BTCallPath.calls, calls, "ReportOutgoing", [own, "1", .vardict(["remoteAddress": text(257)])],
                        "at most 256"
                    ),
                    (BTCallPath.calls, calls, "ReportOutgoing", [own, text(129), .vardict([:])], "at most 128"),
                    (BTCallPath.calls, calls, "Place", [text(129), .vardict([:])], "at most 128"),
                    (BTCallPath.calls, calls, "Place", ["1", .vardict(["provider": text(513)])], "at most 512"),
                    (call, callInterface, "SendDTMF", [text(65)], "at most 64"),
                    (call, callInterface, "Update", [text(65), .vardict([:])], "at most 64"),
                    (call, callInterface, "SetMedia", [.vardict(["audio": text(65)])], "at most 64"),
                    (BTCallPath.manager, manager, "SetSetting", [text(129), "x"], "at most 128"),
                    (BTCallPath.manager, manager, "ResetSetting", [text(129)], "at most 128"),
                    (BTCallPath.manager, manager, "ExplainQuirks", [text(65)], "at most 64"),
                    (BTCallPath.manager, manager, "ForgetCodecs", [text(65)], "at most 64"),
                    (BTCallPath.router, BTCallName.Interface.router, "Select", [text(65)], "at most 64"),
                    (
                        BTCallPath.router, BTCallName.Interface.router, "Interrupt", [text(65), .vardict([:])],
                        "at most 64"
                    ),
                    (BTCallPath.manager, BTCallName.Interface.pairing, "Forget", [text(65)], "at most 64"),
                    (
                        BTCallPath.audio, BTCallName.Interface.audio, "OpenTap", [path, .vardict([:])], "at most 256"
                    ),
                ]
                for (path, interface, member, arguments, accepted) in cases {
                    let refused = await error(box.client, path, interface, member, arguments)
                    #expect(refused?.name == "org.btcall.Error.InvalidArgument", "\(member)")
                    #expect(
                        refused?.message.contains("accepted: \(accepted) bytes") == true, "\(member) \(refused as Any)")
                }
                let properties = "org.freedesktop.DBus.Properties"
                for (path, interface, property) in [
                    (BTCallPath.router, BTCallName.Interface.router, "Preferred"),
                    (BTCallPath.audio, BTCallName.Interface.audio, "MuteMode"),
                ] {
                    let refused = await error(
                        box.client, path, properties, "Set",
                        [.string(interface), .string(property), .variant(text(65))])
                    #expect(refused?.message.contains("accepted: at most 64 bytes") == true, "\(refused as Any)")
                }
                // Megabytes are refused earlier.
                let huge = await error(
                    box.client, BTCallPath.calls, calls, "ReportIncoming", [own, text(2_000_000), .vardict([:])])
                #expect(huge?.name == BusError.Name.limitsExceeded)
                // The longest accepted text.
                #expect(await register(box.client, 2, name: String(repeating: "n", count: 128)) == nil)
            }
        }

        @Test func `One program cannot take all places of holders, log readers, resolvers and recorders`() async throws
        {
            try await Box.run(
                configure: { $0.recording = .ask },
                body: { box in
                    let other = try BusConnection(box.address)
                    defer { other.close() }
                    let registration = try await box.register()
                    _ = try await box.startCall(registration)
                    let call = try #require(box.daemon.calls.calls.first).path
                    let resolver: (Int) -> [Value] = { [.objectPath("/r\($0)")] }
                    let cases: [(String, String, String, Int, (Int) -> [Value])] = [
                        (BTCallPath.session, BTCallName.Interface.session, "Activate", 16, { _ in [.vardict([:])] }),
                        (BTCallPath.manager, BTCallName.Interface.manager, "SubscribeLog", 2, { _ in [] }),
                        (BTCallPath.calls, calls, "RegisterContactResolver", 2, resolver),
                        (BTCallPath.audio, BTCallName.Interface.audio, "OpenInjection", 4, { _ in [.vardict([:])] }),
                        (
                            BTCallPath.audio, BTCallName.Interface.audio, "OpenPlayback", 4,
                            { _ in [.vardict(["to": "page"])] }
                        ),
                    ]
                    for (path, interface, member, most, arguments) in cases {
                        // The answers keep the descriptors open.
                        var held: [[Value]] = []
                        for number in 0..<most {
                            held.append(
                                try await box.client.call(BTCallName.bus, path, interface, member, arguments(number)))
                        }
                        let refused = await error(box.client, path, interface, member, arguments(most))
                        #expect(refused?.name == "org.btcall.Error.WrongState", "\(member)")
                        #expect(refused?.message.contains("one program") == true, "\(member) \(refused as Any)")
                        held.append(try await other.call(BTCallName.bus, path, interface, member, arguments(0)))
                        #expect(held.count == most + 1)
                    }
                    for _ in 0..<2 {
                        box.client.send(
                            BTCallName.bus, BTCallPath.audio, BTCallName.Interface.audio, "OpenTap",
                            [.objectPath(call), .vardict([:])]
                        ) { _ in }
                    }
                    try await eventually("both are requested") { box.log.containing("asks to record it").count == 2 }
                    let refused = await error(
                        box.client, BTCallPath.audio, BTCallName.Interface.audio, "OpenTap",
                        [.objectPath(call), .vardict([:])])
                    #expect(refused?.message.contains("one program") == true, "\(refused as Any)")
                    other.send(
                        BTCallName.bus, BTCallPath.audio, BTCallName.Interface.audio, "OpenTap",
                        [.objectPath(call), .vardict([:])]
                    ) { _ in }
                    try await eventually("another program is") { box.log.containing("asks to record it").count == 3 }
                })
        }

        @Test func `One process has at most 8 PCM streams and 24 connections, and others get their own`() async throws {
            let path = FileManager.default.temporaryDirectory.appending(path: "btcall-\(UUID().uuidString).sock").path()
            try await Box.run(
                configure: { $0.pcmSocket = path },
                body: { box in
                    func ask(_ role: btcall_pcm_role) async throws -> PCMClient {
                        let client = try PCMClient(path, PCMClient.hello(role))
                        try await eventually("it is answered") { client.isAnswered() }
                        return client
                    }
                    var clients: [PCMClient] = []
                    for _ in 1...8 { clients.append(try await ask(BTCALL_PCM_CALL)) }
                    let ninth = try await ask(BTCALL_PCM_CALL)
                    #expect(ninth.answer?.error == EBUSY && ninth.reason.contains("8 streams of this process"))
                    for _ in 9...24 { clients.append(try await ask(BTCALL_PCM_CONTROL)) }
                    #expect(clients.allSatisfy { $0.answer?.error == 0 })
                    let late = try await ask(BTCALL_PCM_CONTROL)
                    #expect(late.answer?.error == EBUSY && late.reason.contains("24 connections of this process"))
                    #expect(box.log.containing("(process \(getpid())) is not served: 24 connections").count == 1)
                    // All of these belong to the test's own process.
                    let own = box.daemon.pcm.process
                    box.daemon.pcm.process = { _ in 1 }
                    let other = try await ask(BTCALL_PCM_CALL)
                    #expect(other.answer?.error == 0)
                    box.daemon.pcm.process = own
                    clients.removeFirst().close()
                    try await eventually("a place is free again") {
                        try await ask(BTCALL_PCM_CALL).answer?.error == 0
                    }
                })
        }

        @Test func `A connection without a usable descriptor is refused, and the headset's session continues`()
            async throws
        {
            try await Box.run { box in
                let ears = try await box.connect(Box.first)
                let file = PassedDescriptor(taking: open("/dev/null", O_RDWR))
                let refused = await #expect(throws: BusError.self) {
                    try await box.bluez.handOver(file, of: Box.first)
                }
                #expect(refused?.message.contains("without a usable descriptor") == true)
                // As if no descriptor had been free for the message.
                #expect(throws: (any Error).self) {
                    try box.daemon.headsets.connected(Box.first, PassedDescriptor(taking: -1))
                }
                #expect(ears.headset.isConnected)
                #expect(box.daemon.headsets.description(of: Box.first)?.battery == 70)
                #expect(box.log.containing("replaced by a new connection").isEmpty)
            }
        }
    }
}
