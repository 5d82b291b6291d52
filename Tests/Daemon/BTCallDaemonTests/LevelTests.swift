import AudioPaths
import BTCall
import BTCallAPI
import BTCallDaemon
import BTCallSimulator
import BluetoothTypes
import Configuration
import ControlLoop
import DBus
import Foundation
import Glibc
import HeadsetControl
import TestSupport
import Testing

extension DaemonTests {
    /// Volumes of headsets, their batteries, and the board's own.
    @Suite @ControlPlane struct LevelTests {
        private static let properties = "org.freedesktop.DBus.Properties"
        private let first = Choice("bluetooth:\(Box.first)") ?? .none
        private let second = Choice("bluetooth:\(Box.second)") ?? .none

        private func get(
            _ box: Box, _ name: String, of address: BluetoothAddress = Box.first
        ) async throws -> Value? {
            try await box.client.call(
                BTCallName.bus, BTCallPath.headset(address), Self.properties, "Get",
                [.string(BTCallName.Interface.headset), .string(name)]
            ).first?.unwrapped
        }

        private func set(
            _ box: Box, _ name: String, _ volume: UInt8, of address: BluetoothAddress = Box.first
        ) async -> String? {
            await box.error(
                BTCallPath.headset(address), Self.properties, "Set",
                [.string(BTCallName.Interface.headset), .string(name), .variant(.byte(volume))])
        }

        private func volumes(_ box: Box, are speaker: UInt8, _ microphone: UInt8) async throws {
            try await eventually("the volumes are \(speaker) and \(microphone)") {
                let now = (try await get(box, "SpeakerVolume"), try await get(box, "MicrophoneVolume"))
                return now == (.byte(speaker), .byte(microphone))
            }
        }

        private func disconnect(_ box: Box, _ address: BluetoothAddress = Box.first) async throws {
            box.bluez.disconnect(address)
            try await eventually("\(address) is gone") { box.daemon.headsets.description(of: address) == nil }
        }

        private func persisting(ceiling: Int = 15, _ body: (Box) async throws -> Void) async throws {
            let folder = FileManager.default.temporaryDirectory.appending(path: "btcall-state-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: folder) }  // A folder in the temporary directory may stay.
            try await Box.run(
                configure: {
                    $0.stateDirectory = folder.path
                    $0.volumeCeiling = ceiling
                }, body: body)
        }

        // MARK: Volume

        @Test func `A headset gets its stored volumes when it reconnects, also after a restart of the daemon`()
            async throws
        {
            try await persisting { box in
                var ears = try await box.connect(Box.first)
                ears.headset.setSpeakerVolume(11)
                try await volumes(box, are: 11, 0)
                #expect(await set(box, "MicrophoneVolume", 4) == nil)
                try await disconnect(box)
                ears = try await box.connect(Box.first)
                try await ears.hear(.speakerVolume(11))
                try await ears.hear(.microphoneVolume(4))
                try await volumes(box, are: 11, 4)
                // Another headset has its own volume.
                let other = try await box.connect(Box.second)
                #expect(try await get(box, "SpeakerVolume", of: Box.second) == .byte(0))
                #expect(!other.events.contains(.speakerVolume(11)))
                try await disconnect(box, Box.second)
                box.bluez.disconnect(Box.first)
                try await box.restartDaemon()
                ears = try await box.connect(Box.first)
                try await ears.hear(.speakerVolume(11))
                try await ears.hear(.microphoneVolume(4))
                try await volumes(box, are: 11, 4)
            }
        }

        @Test func `A headset that sends its own volume first keeps it`() async throws {
            try await Box.run { box in
                let ears = try await box.connect(Box.first)
                ears.headset.setSpeakerVolume(11)
                try await volumes(box, are: 11, 0)
                try await disconnect(box)
                let headset = VirtualHeadset(
                    .init(address: Box.first, name: "headset 1", codecs: [.cvsd], battery: 70))
                let again = Ears(headset)
                let stream = try await box.bluez.connect(Box.first)
                let command = Array("AT+VGS=6\r".utf8)
                #expect(command.withUnsafeBytes { send(stream, $0.baseAddress, $0.count, 0) } == command.count)
                var answer: [UInt8] = []
                try await eventually("it is answered") {
                    var byte: UInt8 = 0
                    while recv(stream, &byte, 1, 0) == 1 { answer.append(byte) }
                    return String(decoding: answer, as: UTF8.self).contains("OK\r\n")
                }
                try headset.attach(stream)
                try await eventually("it is connected") { again.events.contains(.serviceLevelConnectionUp) }
                try await volumes(box, are: 6, 0)
                #expect(!again.events.contains(.speakerVolume(11)))
            }
        }

        @Test func `Volumes are kept while the call is elsewhere, and sent again when the audio is back`() async throws
        {
            try await Box.run { box in
                try await box.prefer(.bluetooth)
                let ears = try await box.connect(Box.first)
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                try await box.route(first)
                #expect(await set(box, "SpeakerVolume", 9) == nil)
                ears.headset.setMicrophoneVolume(5)
                try await volumes(box, are: 9, 5)
                try await box.bridge.audioDeviceManager.select(.earpiece)
                try await box.route(.earpiece)
                try await eventually("the link is closed") { !box.daemon.graph.holdsLink(Box.first) }
                try await volumes(box, are: 9, 5)
                ears.forget()
                try await box.bridge.audioDeviceManager.select(first)
                try await box.route(first)
                try await ears.hear(.speakerVolume(9))
                try await ears.hear(.microphoneVolume(5))
                try await volumes(box, are: 9, 5)
            }
        }

        @Test func `A headset's volume never exceeds the ceiling, nor does the stored one`() async throws {
            try await persisting(ceiling: 12) { box in
                let ears = try await box.connect(Box.first)
                ears.headset.setSpeakerVolume(15)
                try await ears.hear(.speakerVolume(12))
                ears.headset.setMicrophoneVolume(15)
                try await volumes(box, are: 12, 15)
                let device = try #require(
                    try await box.bridge.audioDeviceManager.audioDevices().first { $0.choice == first })
                #expect(device.speakerVolume == 12 && device.speakerVolumeMax == 12)
                #expect(device.microphoneVolumeMax == 15)
                #expect(await set(box, "SpeakerVolume", 13) == APIError.namePrefix + "InvalidArgument")
                #expect(await set(box, "SpeakerVolume", 12) == nil)
                ears.forget()
                try await box.bridge.setSetting("bluetooth.volumeCeiling", to: "8")
                try await ears.hear(.speakerVolume(8))
                try await volumes(box, are: 8, 15)
                // The stored volume was lowered with it.
                try await box.bridge.resetSetting("bluetooth.volumeCeiling")
                try await disconnect(box)
                let again = try await box.connect(Box.first)
                try await again.hear(.speakerVolume(8))
                try await volumes(box, are: 8, 15)
            }
        }

        @Test func `A stored volume above a later ceiling is lowered, for that headset only`() async throws {
            let folder = FileManager.default.temporaryDirectory.appending(path: "btcall-state-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: folder) }  // A folder in the temporary directory may stay.
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try "[\(Box.first)]\nspeaker = 14\n[\(Box.second)]\nspeaker = 14\n".write(
                to: folder.appending(path: "volumes.conf"), atomically: true, encoding: .utf8)
            try await Box.run(
                configure: {
                    $0.stateDirectory = folder.path
                    $0.headsets = [Box.first: .init(volumeCeiling: 5)]
                },
                body: { box in
                    let ears = try await box.connect(Box.first)
                    try await ears.hear(.speakerVolume(5))
                    try await volumes(box, are: 5, 0)
                    let other = try await box.connect(Box.second)
                    try await other.hear(.speakerVolume(14))
                    // The general ceiling does not apply to the headset with its own.
                    try await box.bridge.setSetting("bluetooth.volumeCeiling", to: "9")
                    try await other.hear(.speakerVolume(9))
                    #expect(await set(box, "SpeakerVolume", 6) == APIError.namePrefix + "InvalidArgument")
                    let program = try Program(box.address)
                    let run = try await program("volume", "speaker", "4", "--headset", "\(Box.first)")
                    #expect(run.status == 0 && run.text.contains("4 of 5"))
                    try await ears.hear(.speakerVolume(4))
                    let loud = try await program("volume", "speaker", "6", "--headset", "headset 1")
                    #expect(loud.status == 1 && loud.text.contains("0 to 5 (volumeCeiling)"))
                })
        }

        @Test func `An unpaired headset's volumes are forgotten`() async throws {
            try await Box.run { box in
                let ears = try await box.connect(Box.first)
                ears.headset.setSpeakerVolume(11)
                try await volumes(box, are: 11, 0)
                box.bluez.remove(Box.first)
                try await eventually("the policy has forgotten it") {
                    try await box.device("\(first)") == nil
                }
                box.bluez.addHeadset(Box.first, name: "headset 1")
                _ = try await box.connect(Box.first)
                #expect(try await get(box, "SpeakerVolume") == .byte(0))
            }
        }
    }
}
