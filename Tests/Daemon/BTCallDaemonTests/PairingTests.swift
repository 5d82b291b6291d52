import AudioPaths
import BTCall
import BTCallAPI
import BTCallDaemon
import BTCallSimulator
import BlueZ
import BluetoothTypes
import CallControl
import Configuration
import ControlLoop
import DBus
import Foundation
import HeadsetControl
import TestSupport
import Testing

extension DaemonTests {
    /// Pairing without a screen: the window, the agent and the adapter, with the simulated bluetoothd.
    @Suite @ControlPlane struct PairingTests {
        private static let stranger = BluetoothAddress(value: 0x0000_5E00_5311)
        private static let other = BluetoothAddress(value: 0x0000_5E00_5312)

        /// The signals, and the headsets that have connected.
        @ControlPlane
        private final class Scene {
            let box: Box
            private(set) var events: [Pairing.Event] = []
            private(set) var headsets: [Ears] = []
            private var reading: Task<Void, Never>?

            init(_ box: Box) async throws {
                self.box = box
                box.bluez.onConnected = { [weak self] address, descriptor in
                    let headset = VirtualHeadset(
                        .init(address: address, name: "stranger", codecs: [.cvsd], battery: 70))
                    self?.headsets.append(Ears(headset))
                    // A failure shows in the conditions that the test waits for.
                    try? headset.attach(descriptor)
                }
                let stream = await box.bridge.pairing.events()
                reading = Task { @ControlPlane [weak self] in
                    for await event in stream { self?.events.append(event) }
                }
                // Every signal after this reply is recorded.
                #expect(try await box.bridge.pairing.state() == .closed)
            }

            var pairing: Pairing { box.bridge.pairing }

            var result: Pairing.Result? {
                for case .finished(let result) in events { return result }
                return nil
            }

            func finish(sourceLocation: SourceLocation = #_sourceLocation) async throws -> Pairing.Result {
                try await eventually("the window ends", sourceLocation: sourceLocation) { result != nil }
                return try #require(result)
            }

            func property(_ name: String, _ interface: String = "org.bluez.Adapter1", at path: String) async throws
                -> Value?
            {
                try await box.client.call(
                    "org.bluez", path, "org.freedesktop.DBus.Properties", "Get", [.string(interface), .string(name)]
                ).first?.unwrapped
            }

            /// Pairable, discoverable, time-out.
            func adapter() async throws -> [Value?] {
                let path = "/org/bluez/hci0"
                return [
                    try await property("Pairable", at: path), try await property("Discoverable", at: path),
                    try await property("DiscoverableTimeout", at: path),
                ]
            }

            func isBackToNormal(sourceLocation: SourceLocation = #_sourceLocation) async throws {
                try await eventually("the adapter is as it was", sourceLocation: sourceLocation) {
                    let values = try await adapter()
                    return box.bluez.agentCapability == nil && !box.bluez.isDiscovering()
                        && values == [false, false, .uint32(180)]
                }
            }

            func trusted(_ address: BluetoothAddress) async throws -> Bool? {
                try await property(
                    "Trusted", "org.bluez.Device1", at: "/org/bluez/hci0/dev_\(address.pathComponent)")?.boolValue
            }

            func audit(_ parts: String) -> Bool { !box.log.containing("notice: pairing: ", parts).isEmpty }
        }

        /// The error of a call that must fail.
        private func refused(_ body: @ControlPlane () async throws -> Void) async -> BridgeError? {
            do {
                try await body()
                return nil
            } catch {
                return error as? BridgeError
            }
        }

        private func run(_ body: (Scene) async throws -> Void) async throws {
            try await Box.run { box in try await body(Scene(box)) }
        }

        @Test func `An allowed headset is found, paired, trusted and connected, and a call goes to it`() async throws {
            try await run { scene in
                scene.box.bluez.addStranger(Self.stranger, name: "Jabra 45", rssi: -61)
                scene.box.bluez.addStranger(Self.other, name: "Other", rssi: -30)
                try await scene.pairing.open(seconds: 60, allowing: ["jabra*"])
                #expect(scene.box.bluez.agentCapability == "NoInputNoOutput")
                #expect(try await scene.adapter() == [true, true, .uint32(60)])
                let result = try await scene.finish()
                #expect(result == .init(address: "\(Self.stranger)", outcome: .paired, reason: ""))
                #expect(scene.box.bluez.pairing.pairCalls == [Self.stranger])
                #expect(try await scene.trusted(Self.stranger) == true)
                try await eventually("its HFP is up") {
                    scene.box.daemon.headsets.presence(of: Self.stranger) == .up
                }
                try await scene.isBackToNormal()
                let found = scene.events.compactMap { event -> Pairing.Device? in
                    if case .found(let device) = event { device } else { nil }
                }
                #expect(
                    found.contains(
                        .init(
                            address: "\(Self.stranger)", name: "Jabra 45", rssi: -61, profiles: ["HFP", "A2DP"])))
                let states = scene.events.compactMap { event -> Pairing.State? in
                    if case .stateChanged(let state) = event { state } else { nil }
                }
                #expect(states == [.open, .pairing, .closed])
                for line in [
                    "window opened by :", "for 60 s: \"jabra*\"", "Jabra 45 (\(Self.stranger)) is found (-61 dBm)",
                    "is paired", "is trusted", "is connected", "window closed: paired Jabra 45",
                ] { #expect(scene.audit(line), "\(line)") }
            }
        }

        @Test func `A headset that is not on the list is refused, found or pairing on its own, and left unpaired`()
            async throws
        {
            try await run { scene in
                scene.box.bluez.addStranger(Self.other, name: "Other")
                try await scene.pairing.open(seconds: 60, allowing: ["\(Self.stranger)"])
                try await eventually("it is found") {
                    scene.events.contains { if case .found = $0 { true } else { false } }
                }
                #expect(await !scene.box.bluez.beginPairing(Self.other))
                #expect(await !scene.box.bluez.authorize(.handsFree, of: Self.other))
                #expect(scene.box.bluez.pairing.pairCalls.isEmpty)
                #expect(scene.audit("Other (\(Self.other)) is refused to pair: it is not on the list"))
                try await scene.pairing.close()
                #expect(try await scene.finish().outcome == .cancelled)
                try await scene.isBackToNormal()
                // The agent is not asked any more.
                #expect(await !scene.box.bluez.beginPairing(Self.stranger))
            }
        }

        @Test func `A headset on the list that starts pairing itself is trusted and connected`() async throws {
            try await run { scene in
                try await scene.pairing.open(seconds: 60, allowing: ["\(Self.stranger)"])
                scene.box.bluez.pairing.discoveryError = BusError(name: "org.bluez.Error.Failed", message: "no")
                scene.box.bluez.addHeadset(
                    Self.stranger, name: "Jabra 45", properties: ["Paired": false, "Trusted": false])
                #expect(await scene.box.bluez.beginPairing(Self.stranger))
                #expect(try await scene.finish().outcome == .paired)
                #expect(try await scene.trusted(Self.stranger) == true)
                #expect(scene.audit("is paired, which it began itself"))
                #expect(scene.box.bluez.pairing.pairCalls.isEmpty)
            }
        }

        @Test(arguments: ["0000", nil, "1234"] as [String?])
        func `A headset that asks for a PIN gets the given one, and is refused without one`(pin: String?) async throws {
            try await run { scene in
                scene.box.bluez.addStranger(Self.stranger, name: "Old")
                scene.box.bluez.pairing.manners[Self.stranger] = .pin("0000")
                try await scene.pairing.open(seconds: 60, allowing: ["Old"], pin: pin)
                guard pin != "0000" else {
                    #expect(try await scene.finish().outcome == .paired)
                    return
                }
                try await eventually("the reason is reported") {
                    scene.audit("is not paired (attempt 1): the device refused")
                }
                if pin == nil { #expect(scene.audit("is refused a PIN: it wants a PIN, and none was given")) }
                #expect(scene.box.log.containing("1234").isEmpty, "the PIN is no business of the log")
                try await scene.pairing.close()
                #expect(try await scene.finish().outcome == .cancelled)
            }
        }

        @Test func `An unused window ends after its time and restores everything`() async throws {
            try await run { scene in
                try await scene.pairing.open(seconds: 1)
                let result = try await scene.finish()
                #expect(result == .init(address: nil, outcome: .timedOut, reason: "no allowed device came"))
                try await scene.isBackToNormal()
                #expect(try await scene.pairing.state() == .closed)
            }
        }

        @Test func `A window opened during a call does not search, and a headset that begins itself gets the call`()
            async throws
        {
            try await run { scene in
                let provider = try await scene.box.register()
                _ = try await scene.box.startCall(provider)
                try await scene.box.prefer(.bluetooth)
                let btcall = try Program(scene.box.address)
                async let output = btcall("headset", "pair", "--window", "60", "--allow", "\(Self.stranger)")
                try await eventually("the window is open") { try await scene.pairing.state() == .open }
                #expect(try await !scene.pairing.isSearching())
                let error = await refused { try await scene.pairing.scan(seconds: 5) }
                #expect(error?.code == .callsActive && error?.message.contains("--search") == true)
                scene.box.bluez.addStranger(Self.stranger, name: "Jabra 45")
                #expect(await scene.box.bluez.beginPairing(Self.stranger))
                let pair = try await output
                #expect(pair.status == 0, "\(pair.text)")
                #expect(pair.text.contains("a call is up: btcalld does not search"))
                #expect(scene.box.bluez.pairing.discoveries == 0 && scene.box.bluez.pairing.pairCalls.isEmpty)
                // The board of these tests carries no link to it.
                try await eventually("the call goes to it") {
                    !scene.box.log.containing("opening the audio link to \(Self.stranger)").isEmpty
                }
                scene.box.registrations.append(provider)
            }
        }

        @Test func `With search a window searches during a call too, and says what that costs`() async throws {
            try await run { scene in
                let provider = try await scene.box.register()
                _ = try await scene.box.startCall(provider)
                scene.box.bluez.addStranger(Self.stranger, name: "Jabra 45")
                let btcall = try Program(scene.box.address)
                let pair = try await btcall(
                    "headset", "pair", "--window", "60", "--allow", "\(Self.stranger)", "--search")
                #expect(pair.status == 0, "\(pair.text)")
                #expect(pair.text.contains("searching during the call: it may lose audio"))
                #expect(scene.box.bluez.pairing.pairCalls == [Self.stranger])
                #expect(scene.audit("searching during a call too"))
                scene.box.registrations.append(provider)
            }
        }

        @Test func `A new call suspends the search until it has ended`() async throws {
            try await run { scene in
                let provider = try await scene.box.register()
                try await scene.pairing.open(seconds: 60, allowing: ["\(Self.stranger)"])
                try await eventually("it searches") { try await scene.pairing.isSearching() }
                let call = try await scene.box.startCall(provider)
                try await eventually("it does not search") { !scene.box.bluez.isDiscovering() }
                #expect(try await scene.pairing.state() == .open)
                scene.box.bluez.addStranger(Self.stranger, name: "Jabra 45")
                try await provider.update(call, .ended)
                #expect(try await scene.finish().outcome == .paired)
                #expect(scene.box.bluez.pairing.discoveries == 2)
                scene.box.registrations.append(provider)
            }
        }

        @Test func `When bluetoothd is killed the window fails, and another can be opened once it is back`()
            async throws
        {
            try await run { scene in
                try await scene.pairing.open(seconds: 60)
                scene.box.bluez.stop()
                let result = try await scene.finish()
                #expect(result.outcome == .failed && result.reason == "bluetoothd has left the bus")
                let error = await refused { try await scene.pairing.open() }
                #expect(error?.code == .unavailable)
                try await scene.box.bluez.start()
                // bluetoothd keeps the adapter's properties; they are restored now.
                try await scene.isBackToNormal()
                try await eventually("a window opens") {
                    await refused { try await scene.pairing.open(seconds: 60) } == nil
                }
                #expect(scene.box.bluez.agentCapability == "NoInputNoOutput")
            }
        }

        @Test func `Invalid requests are refused with what is accepted`() async throws {
            try await run { scene in
                let pairing = scene.pairing
                func code(_ body: @ControlPlane () async throws -> Void) async -> BridgeError.Code? {
                    await refused(body)?.code
                }
                #expect(await code { try await pairing.open(seconds: 0) } == .invalidArgument)
                #expect(await code { try await pairing.open(seconds: 601) } == .invalidArgument)
                #expect(
                    await code { try await pairing.open(allowing: [""]) } == .invalidArgument)
                #expect(await code { try await pairing.open(pin: "") } == .invalidArgument)
                #expect(await code { try await pairing.close() } == .wrongState)
                #expect(await code { try await pairing.trust("nobody") } == .invalidArgument)
                #expect(
                    await code { try await pairing.forget("\(Self.stranger)") }
                        == .unavailable)
                #expect(
                    await code { try await pairing.open(allowing: ["\(Box.first)"]) }
                        == .wrongState)
                let unknown: [String: Value] = ["alow": .strings(["x"])]
                #expect(
                    await scene.box.error(
                        BTCallPath.manager, BTCallName.Interface.pairing, "Open", [.uint32(10), .vardict(unknown)])
                        == "org.btcall.Error.InvalidArgument")
                #expect(scene.box.bluez.agentCapability == nil)
                try await pairing.open(seconds: 60)
                let second = await refused { try await pairing.open() }
                #expect(second?.code == .wrongState && second?.message.contains("is open already") == true)
                scene.box.bluez.setPowered(false)
                #expect(try await scene.finish().outcome == .failed)
                #expect(await code { try await pairing.open() } == .unavailable)
            }
        }

        @Test func `When bluetoothd does not search btcalld retries, and logs it`() async throws {
            try await run { scene in
                scene.box.bluez.pairing.discoveryError = BusError(name: "org.bluez.Error.Failed", message: "busy")
                scene.box.bluez.addStranger(Self.stranger, name: "Jabra 45")
                try await scene.pairing.open(seconds: 60, allowing: ["Jabra*"])
                try await eventually("it is reported") { scene.audit("bluetoothd does not search: ") }
                scene.box.bluez.pairing.discoveryError = nil
                #expect(try await scene.finish().outcome == .paired)
            }
        }

        @Test func `trust and forget change bluetoothd's devices`() async throws {
            try await run { scene in
                try await scene.pairing.trust("\(Box.first)", false)
                #expect(try await scene.trusted(Box.first) == false)
                try await scene.pairing.trust("\(Box.first)")
                #expect(try await scene.trusted(Box.first) == true)
                let headset = try await scene.box.connect(Box.second)
                try await scene.pairing.forget("\(Box.second)")
                try await eventually("it is disconnected") {
                    scene.box.daemon.headsets.description(of: Box.second)?.isConnected != true
                }
                #expect(await refused { try await scene.pairing.forget("\(Box.second)") } != nil)
                #expect(scene.audit("\(Box.second) is forgotten, as requested by :"))
                withExtendedLifetime(headset) {}
            }
        }

        @Test func `The light blinks while the window is open, and the daemon's end closes it`() async throws {
            let folder = FileManager.default.temporaryDirectory.appending(path: "btcall-led-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }  // A folder in the temporary directory may stay.
            try "1\n".write(to: folder.appending(path: "max_brightness"), atomically: false, encoding: .utf8)
            try "0\n".write(to: folder.appending(path: "brightness"), atomically: false, encoding: .utf8)
            @ControlPlane func brightness() throws -> String {
                try String(contentsOf: folder.appending(path: "brightness"), encoding: .utf8)
            }
            try await Box.run(
                configure: { $0.pairing.light = PrivacyOutputSpecification(folder.path()) },
                body: { box in
                    let scene = try await Scene(box)
                    #expect(try brightness() == "0\n")
                    try await scene.pairing.open(seconds: 60)
                    for _ in 0..<2 {
                        try await eventually("it is on") { try brightness() == "1\n" }
                        try await eventually("it is off") { try brightness() == "0\n" }
                    }
                    await box.daemon.stop()
                    #expect(try brightness() == "0\n")
                    try await scene.isBackToNormal()
                })
        }

        @Test func `The board's button opens a window as configured, and closes it`() async throws {
            let board = SimulatedBoard()
            board.addHook()
            try await Box.run(
                board: board,
                configure: {
                    $0.pairing.button = HookSpecification("evdev:cradle:KEY_PROG1")
                    $0.pairing.allow = ["Jabra*"]
                    $0.pairing.seconds = 30
                },
                body: { box in
                    let scene = try await Scene(box)
                    board.lift()
                    try await eventually("it is open") { try await scene.pairing.state() == .open }
                    #expect(scene.audit("window opened by the pairing button for 30 s: \"Jabra*\""))
                    board.hangUp()
                    board.lift()
                    #expect(try await scene.finish().outcome == .cancelled)
                })
        }

        @Test func `btcall headset pair, scan, trust and forget`() async throws {
            try await run { scene in
                let btcall = try Program(scene.box.address)
                scene.box.bluez.addStranger(Self.stranger, name: "Jabra 45", rssi: -61)
                scene.box.bluez.addStranger(Self.other, name: "Other", rssi: -30, services: [])
                let scan = try await btcall("scan", "--seconds", "1")
                #expect(scan.status == 0)
                let lines = scan.text.split(separator: "\n").map { $0.split(separator: " ").joined(separator: " ") }
                #expect(
                    lines == [
                        "ADDRESS NAME RSSI PROFILES", "\(Self.other) Other -30 dBm -",
                        "\(Self.stranger) Jabra 45 -61 dBm HFP, A2DP",
                    ])
                let refused = try await btcall("pair", "--window", "1", "--allow", "00:00:5E:00:53:99")
                #expect(refused.status == 1)
                #expect(refused.text.contains("nothing was paired in time: no allowed device came"))
                let paired = try await btcall("pair", "--window", "60", "--allow", "\(Self.stranger)")
                #expect(paired.status == 0)
                #expect(paired.text.contains("found Jabra 45 (\(Self.stranger)), -61 dBm\n"))
                #expect(paired.text.hasSuffix("paired \(Self.stranger)\n"))
                let again = try await btcall("pair", "--allow", "\(Self.stranger)", "--json")
                #expect(again.status == 1 && again.text.contains("is paired already"))
                let revoked = try await btcall("trust", "\(Self.stranger)", "--revoke")
                #expect(revoked.text == "\(Self.stranger) is not trusted any more\n")
                #expect(try await scene.trusted(Self.stranger) == false)
                let forgotten = try await btcall("forget", "\(Self.stranger)", "--json")
                #expect(forgotten.status == 0 && forgotten.text.contains("\"address\": \"\(Self.stranger)\""))
                #expect(try await btcall("forget", "\(Self.stranger)").status == 1)
                let json = try await btcall("pair", "--window", "60", "--allow", "\(Self.stranger)", "--json")
                let object = try JSONSerialization.jsonObject(with: Data(json.text.utf8)) as? [String: Any]
                #expect(object?["outcome"] as? String == "paired")
                #expect(object?["address"] as? String == "\(Self.stranger)")
                #expect(try await btcall("pair", "--window", "601").status == 64)
            }
        }
    }
}
