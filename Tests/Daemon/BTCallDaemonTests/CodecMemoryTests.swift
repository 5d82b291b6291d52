import AudioPaths
import BTCall
import BTCallAPI
import BTCallBench
import BTCallDaemon
import BTCallSimulator
import BluetoothTypes
import Configuration
import ControlLoop
import DBus
import Foundation
import HandsFree
import HeadsetControl
import TestSupport
import Testing

extension DaemonTests {
    /// The reason why a headset uses a lower codec, and the memory of failed codecs.
    @Suite @ControlPlane struct CodecMemoryTests {
        private let second = Choice("bluetooth:\(Box.second)") ?? .none

        private func withState(_ body: (Box) async throws -> Void) async throws {
            let folder = FileManager.default.temporaryDirectory.appending(path: "btcall-state-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: folder) }  // It may stay in the temporary directory.
            try await Box.run(configure: { $0.stateDirectory = folder.path() }, body: body)
        }

        /// The second headset announces mSBC, and refuses every link with it.
        ///
        /// - Returns: whether mSBC was proposed.
        private func talk(_ box: Box) async throws -> Bool {
            let ears = try await box.connect(Box.second, codecs: [.cvsd, .mSBC])
            let registration = try await box.register()
            let call = try await box.startCall(registration)
            try await box.route(second)
            #expect(try await box.bridge.status().codec == "CVSD")
            try await registration.update(call, .ended)
            try await registration.unregister()
            try await box.route(.none)
            try await eventually("the link is closed") { !box.daemon.graph.holdsLink(Box.second) }
            return ears.events.contains(.codecSelected(.mSBC))
        }

        private func reason(_ box: Box) async throws -> String {
            let reply = try await box.client.call(
                BTCallName.bus, BTCallPath.headset(Box.second), "org.freedesktop.DBus.Properties", "Get",
                [.string(BTCallName.Interface.headset), "CodecReason"])
            return reply.first?.unwrapped.stringValue ?? "?"
        }

        private func disconnect(_ box: Box) async throws {
            box.bluez.disconnect(Box.second)
            try await eventually("it is gone") { box.daemon.headsets.description(of: Box.second) == nil }
        }

        @Test func `A codec that failed in two connections is not tried again, over restarts, until it is forgotten`()
            async throws
        {
            try await withState { box in
                try await box.prefer(.bluetooth)
                #expect(try await talk(box))
                #expect(try await reason(box).contains("mSBC failed in this connection"))
                try await disconnect(box)
                #expect(try await talk(box))
                try await disconnect(box)
                #expect(try await !talk(box))
                #expect(try await reason(box).contains("mSBC failed in 2 connections in a row"))
                let devices = try await Program(box.address)("devices").text
                #expect(
                    devices.contains("headset 2: ") && devices.contains("btcall headset forget-codec"), "\(devices)")
                #expect(
                    try await box.device(second.description)?["codecReason"]?.stringValue?.contains("mSBC failed")
                        == true)
                try await disconnect(box)
                try await box.restartDaemon()
                #expect(try await !talk(box))
                let (text, status) = try await Program(box.address)("headset", "forget-codec", "headset 2")
                #expect(status == 0 && text.contains("\(Box.second)"), "\(text)")
                #expect(try await reason(box).isEmpty)
                try await disconnect(box)
                #expect(try await talk(box))
            }
        }

        @Test func `Unpairing a headset forgets its failed codecs`() async throws {
            try await withState { box in
                try await box.prefer(.bluetooth)
                _ = try await talk(box)
                try await disconnect(box)
                _ = try await talk(box)
                try await disconnect(box)
                #expect(box.daemon.headsets.codecMemories.knows(Box.second))
                box.bluez.remove(Box.second)
                try await eventually("it is forgotten") { !box.daemon.headsets.codecMemories.knows(Box.second) }
                box.bluez.addHeadset(Box.second, name: "headset 2")
                #expect(try await talk(box))
            }
        }

        @Test func `Codecs of a headset unpaired while the daemon was away are forgotten when it is back`() async throws
        {
            let folder = FileManager.default.temporaryDirectory.appending(path: "btcall-state-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: folder) }  // It may stay in the temporary directory.
            let stranger = BluetoothAddress(value: 0x0000_5E00_5399)
            let store = CodecMemoryStore(directory: folder.path())
            try store.file.replace(
                with: store.text(
                    [
                        .init(adapter: Box.adapter, headset: stranger): CodecMemory(unanswered: 1),
                        .init(adapter: Box.adapter, headset: Box.first): CodecMemory(unanswered: 1),
                        .init(adapter: stranger, headset: stranger): CodecMemory(unanswered: 2),
                    ], codecs: [.mSBC, .cvsd]))
            try await Box.run(
                configure: { configuration in
                    configuration.stateDirectory = folder.path()
                    configuration.timeouts.adapter = .milliseconds(50)
                },
                body: { box in
                    let memories = box.daemon.headsets.codecMemories
                    try await eventually("the stranger is forgotten") {
                        memories.memory(of: stranger, on: Box.adapter) == CodecMemory()
                    }
                    #expect(memories.knows(Box.first))
                    // Its pairing with an unplugged adapter is unknown.
                    #expect(memories.memory(of: stranger, on: stranger).unanswered == 2)
                })
        }

        @Test func `The reason for using only CVSD is reported in each case`() async throws {
            try await Box.run { box in
                _ = try await box.connect(Box.second, codecs: [.cvsd])
                #expect(try await reason(box) == "the headset offers nothing better")
                try await disconnect(box)
                _ = try await box.connect(Box.second, codecs: [.cvsd, .mSBC])
                #expect(try await reason(box).isEmpty)
                try await box.bridge.setSetting("bluetooth.codecs", to: "cvsd")
                #expect(try await reason(box).contains("[bluetooth] codecs"))
            }
        }

        @Test func `Forgetting codecs of an unknown headset is refused with what is accepted`() async throws {
            try await Box.run { box in
                let error = await refusal { () throws(BridgeError) in
                    try await box.bridge.forgetCodecs(of: "00:00:5E:00:53:77")
                }
                #expect(error?.code == .unavailable && error?.message.contains("btcall devices") == true)
                let wrong = await refusal { () throws(BridgeError) in try await box.bridge.forgetCodecs(of: "red") }
                #expect(wrong?.code == .invalidArgument && wrong?.message.contains("AA:BB:CC:DD:EE:FF") == true)
                let (text, status) = try await Program(box.address)("headset", "forget-codec", "no such")
                #expect(status == 1 && text.contains("known are"), "\(text)")
            }
        }
    }
}
