import AudioPaths
import BTCall
import BTCallAPI
import BTCallBench
import BTCallDaemon
import BluetoothTypes
import CBTCall
import CallExchange
import Configuration
import ControlLoop
import DBus
import Glibc
import Routing
import TestSupport
import Testing

/// A program that renders the audio: it answers each block with its next one.
@ControlPlane
final class Renderer {
    let uplink: Int32
    let downlink: Int32
    private(set) var heard: [Int16] = []
    private(set) var said: [Int16] = []
    private var source: DescriptorSource?

    init(_ audio: ManualAudio) {
        uplink = audio.uplink.takeDescriptor()
        downlink = audio.downlink.takeDescriptor()
    }

    isolated deinit { end() }

    /// Sends numbers from 1 on, which no microphone or noise does.
    func start() throws {
        for _ in 0..<3 { say() }
        source = try ControlLoop.shared.add(downlink, .readable) { [weak self] _ in self?.exchange() }
    }

    func end() {
        guard source != nil else { return }
        source?.cancel()
        source = nil
        close(uplink)
        close(downlink)
    }

    private func exchange() {
        var block = [Int16](repeating: 0, count: 160)
        while recv(downlink, &block, 320, Int32(MSG_DONTWAIT)) == 320 {
            heard += block
            say()
        }
    }

    private func say() {
        let block = (0..<160).map { Int16((said.count + $0) % 30_000 + 1) }
        if send(uplink, block, 320, Int32(MSG_DONTWAIT | MSG_NOSIGNAL)) == 320 { said += block }
    }

    /// Whether a tenth of a second contains the numbers unchanged.
    static func isHeard(in samples: [Int16]) -> Bool {
        samples.indices.contains { start in
            guard start + 1_600 <= samples.count, samples[start] % 160 == 1 else { return false }
            return (0..<1_600).allSatisfy { samples[start + $0] == (samples[start] - 1 + Int16($0)) % 30_000 + 1 }
        }
    }
}

extension DaemonTests {
    @Suite @ControlPlane struct ManualTests {
        private func call(_ box: Box) async throws -> (ProviderRegistration, Call.ID) {
            try await box.prefer(.none)
            let registration = try await box.register()
            let call = try await box.startCall(registration)
            try await box.route(.earpiece)
            try await box.playing("earpiece")
            return (registration, call)
        }

        private func statistics(_ box: Box) async throws -> AudioStatistics {
            let reply = try await box.client.call(
                BTCallName.bus, BTCallPath.audio, "org.freedesktop.DBus.Properties", "Get",
                [.string(BTCallName.Interface.audio), .string(BTCallName.Audio.statistics)])
            return try AudioStatistics(Fields(try #require(reply.first).unwrapped, of: "Statistics"))
        }

        @Test func `S1.19 A call leaves its device for a program, which plays and records it, and comes back`()
            async throws
        {
            try await Box.run { box in
                _ = try await call(box)
                let opened = box.simulation.opened
                let renderer = Renderer(try await box.bridge.audio.openManual())
                try await box.route(.none)
                try await eventually("nothing is open") { box.daemon.graph.isQuiet }
                _ = box.telephone.exchange.takeRecorded()
                try renderer.start()
                var farEnd: [Int16] = []
                try await eventually("the far end hears the bytes that were written") {
                    farEnd += box.telephone.exchange.takeRecorded()
                    return Renderer.isHeard(in: farEnd)
                }
                try await eventually("the program hears the call") { Tone.isHeard(in: renderer.heard.suffix(1_600)) }
                let manual = try #require(try await statistics(box).manual)
                #expect(manual.blocksIn > 0 && manual.blocksOut > 0 && manual.bad == 0)
                // A second program gets the name of the present one.
                let other = try await CallBridge(bus: .address("\(box.address)"))
                let error = await refusal { () throws(BridgeError) in _ = try await other.audio.openManual() }
                #expect(error?.code == .wrongState && error?.message.contains(manual.owner) == true)
                await other.close()
                #expect(box.simulation.opened == opened)
                renderer.end()
                try await box.route(.earpiece)
                try await box.playing("earpiece")
                #expect(try await statistics(box).manual == nil)
                #expect(try await box.bridge.calls.list().count == 1)
            }
        }

        @Test func `S1.20 Enabling and unmuting the microphone in manual rendering opens nothing`() async throws {
            try await Box.run { box in
                try await box.prefer(.bluetooth)
                _ = try await box.connect(Box.first)
                let renderer = Renderer(try await box.bridge.audio.openManual())
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                try renderer.start()
                for isEnabled in ["false", "true"] {
                    try await box.bridge.setSetting("routing.microphoneEnabled", to: isEnabled)
                }
                try await box.bridge.calls.setMuted(true)
                var farEnd: [Int16] = []
                try await eventually("the far end hears silence") {
                    farEnd = farEnd.suffix(1_600) + box.telephone.exchange.takeRecorded()
                    return farEnd.count >= 1_600 && farEnd.suffix(1_600).allSatisfy { $0 == 0 }
                }
                try await box.bridge.calls.setMuted(false)
                try await eventually("the far end hears what is written") {
                    farEnd += box.telephone.exchange.takeRecorded()
                    return Renderer.isHeard(in: farEnd)
                }
                #expect(box.simulation.opened.isEmpty && box.daemon.graph.isQuiet)
                // There was a device to open.
                renderer.end()
                try await eventually("the headset has the call") { !box.simulation.opened.isEmpty }
            }
        }

        @Test func `A program that leaves the bus stops rendering, even with its descriptors open elsewhere`()
            async throws
        {
            try await Box.run { box in
                _ = try await call(box)
                let other = try await CallBridge(bus: .address("\(box.address)"))
                let renderer = Renderer(try await other.audio.openManual())
                try await box.route(.none)
                try renderer.start()
                await other.close()
                try await box.route(.earpiece)
                renderer.end()
                _ = try await box.bridge.audio.openManual()
            }
        }

        @Test(arguments: [true, false])
        func `Closing one descriptor ends manual rendering, also without a call`(isUplink: Bool) async throws {
            try await Box.run { box in
                let audio = try await box.bridge.audio.openManual()
                let ends = [audio.uplink.takeDescriptor(), audio.downlink.takeDescriptor()]
                #expect(try await statistics(box).manual != nil)
                close(ends[isUplink ? 0 : 1])
                try await eventually("it has ended") { try await statistics(box).manual == nil }
                close(ends[isUplink ? 1 : 0])
                _ = try await box.bridge.audio.openManual()
            }
        }

        @Test func `Manual rendering of the library ends with its program, and another program's stays`() async throws {
            try await Box.run { box in
                _ = try await call(box)
                let audio = box.bridge.audio
                let other = try await CallBridge(bus: .address("\(box.address)"))
                try await other.audio.setManualRenderingMode(true)
                try await audio.setManualRenderingMode(true)
                try await box.route(.none)
                try await eventually("nothing is open") { box.daemon.graph.isQuiet }
                // Nothing is kept: a restart without the programs would use the devices.
                let setting = try await box.bridge.settings().first { $0.key == "routing.manualRendering" }
                #expect(setting?.value == "false")
                try await audio.setManualRenderingMode(false)
                #expect(try await audio.isManualRenderingMode)
                #expect(try await box.bridge.audioDeviceManager.activeRoute() == .none)
                await other.close()
                try await box.route(.earpiece)
                #expect(try await !audio.isManualRenderingMode)
                // The kernel closes the descriptors of a program that is killed.
                let descriptor = try await box.client.call(
                    BTCallName.bus, BTCallPath.audio, BTCallName.Interface.audio, BTCallName.Audio.acquireManual,
                    [.vardict([:])])
                let number = try #require(descriptor.first?.descriptorValue).take()
                try await box.route(.none)
                close(number)
                try await box.route(.earpiece)
            }
        }

        @Test func `Manual rendering of the library outlives a restart of the daemon, and resets a kept setting`()
            async throws
        {
            try await Box.run { box in
                let audio = box.bridge.audio
                try await box.bridge.setSetting("routing.manualRendering", to: "true")
                #expect(try await audio.isManualRenderingMode)
                try await audio.setManualRenderingMode(true)
                try await audio.setManualRenderingMode(false)
                #expect(try await !audio.isManualRenderingMode)
                try await audio.setManualRenderingMode(true)
                try await box.restartDaemon()
                try await eventually("it is asked for again") { try await audio.isManualRenderingMode }
            }
        }

        @Test func `A program that holds manual rendering too often is refused`() async throws {
            try await Box.run { box in
                var held: [PassedDescriptor] = []
                for _ in 0..<16 {
                    let answer = try await box.client.call(
                        BTCallName.bus, BTCallPath.audio, BTCallName.Interface.audio, BTCallName.Audio.acquireManual,
                        [.vardict([:])])
                    held.append(try #require(answer.first?.descriptorValue))
                }
                let name = await box.error(
                    BTCallPath.audio, BTCallName.Interface.audio, BTCallName.Audio.acquireManual, [.vardict([:])])
                #expect(name == "org.btcall.Error.WrongState" && held.count == 16)
            }
        }

        @Test func `Invalid requests of a program are refused`() async throws {
            try await Box.run { box in
                let error = await refusal { () throws(BridgeError) in
                    _ = try await box.bridge.audio.openManual(rate: 11_025)
                }
                #expect(error?.code == .invalidArgument && error?.message.contains("accepted: 8000") == true)
                let name = await box.error(
                    BTCallPath.audio, BTCallName.Interface.audio, BTCallName.Audio.openManual,
                    [.vardict(["device": .string("bluetooth:\(Box.first)")])])
                #expect(name == APIError(.invalidArgument, "").name)
                let manual = try await statistics(box).manual
                #expect(manual == nil)
            }
        }

        @Test func `A sound card that appears during manual rendering is checked afterwards`() async throws {
            try await Box.run(
                configure: { $0.localDevices[.earpiece] = nil },
                prepare: { $0.simulation.removeCard(.speakerphone) },
                body: { box in
                    let registration = try await box.register()
                    _ = try await box.startCall(registration)
                    let renderer = Renderer(try await box.bridge.audio.openManual())
                    try renderer.start()
                    box.simulation.addCard(.speakerphone, microphone: Tone.samples)
                    try await eventually("a second of the call goes by") { renderer.heard.count >= 16_000 }
                    #expect(try await box.device("speakerphone")?["available"] == .bool(false))
                    renderer.end()
                    try await box.route(.speakerphone)
                    try await box.playing("speakerphone")
                })
        }
    }
}
