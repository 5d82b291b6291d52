import BTCall
import BTCallAPI
import BTCallBench
import BTCallDaemon
import BTCallSimulator
import CBTCall
import Configuration
import ControlLoop
import DBus
import Glibc
import TestSupport
import Testing

extension DaemonTests {
    /// Members and options of the bus without another test.
    @Suite @ControlPlane struct MemberTests {
        private func property(_ box: Box, _ path: String, _ interface: String, _ name: String) async throws -> Value {
            let reply = try await box.client.call(
                BTCallName.bus, path, "org.freedesktop.DBus.Properties", "Get", [.string(interface), .string(name)])
            return try #require(reply.first).unwrapped
        }

        @Test func `Pairing1.SecondsLeft counts down while a window is open`() async throws {
            try await Box.run { box in
                func left() async throws -> Int {
                    try await property(box, BTCallPath.manager, BTCallName.Interface.pairing, "SecondsLeft")
                        .integerValue ?? -1
                }
                #expect(try await left() == 0)
                try await box.bridge.pairing.open(seconds: 100)
                #expect((90...100).contains(try await left()))
                try await eventually("a second has passed") { try await left() < 100 }
                try await box.bridge.pairing.close()
                #expect(try await left() == 0)
            }
        }

        @Test func `Headset1.MediaCodec is the codec of A2DP while that is up`() async throws {
            try await Box.run { box in
                _ = try await box.connect(Box.first)
                let path = BTCallPath.headset(Box.first)
                func codec() async throws -> String? {
                    try await property(box, path, BTCallName.Interface.headset, "MediaCodec").stringValue
                }
                #expect(try await codec() == "")
                try await eventually("bluetoothd has the endpoint") { !box.bluez.media.endpoints.isEmpty }
                try await box.bluez.configureMedia(of: Box.first)
                try await eventually("it is named") { try await codec()?.hasPrefix("SBC ") == true }
            }
        }

        /// The 32-bit samples that a stream socket holds now.
        private func samples(_ descriptor: Int32) -> [Float] {
            var bytes = [UInt8](repeating: 0, count: 1 << 16)
            let count = recv(descriptor, &bytes, bytes.count, Int32(MSG_DONTWAIT))
            guard count > 0 else { return [] }
            return bytes.withUnsafeBytes { Array($0.prefix(count - count % 8).bindMemory(to: Float.self)) }
        }

        private func isStream(_ descriptor: Int32) -> Bool {
            var type: Int32 = 0
            var size = socklen_t(MemoryLayout<Int32>.size)
            return getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == 1
        }

        @Test func `a program that renders gets the format that it asks for, as streams`() async throws {
            try await Box.run { box in
                try await box.prefer(.none)
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                let audio = try await box.bridge.audio.openManual(
                    rate: 8_000, sampleFormat: .f32, channels: 2, isStream: true)
                #expect(audio.downlink.blockFrames == 80 && audio.uplink.channels == 2)
                let ends = (audio.uplink.takeDescriptor(), audio.downlink.takeDescriptor())
                defer {
                    close(ends.0)
                    close(ends.1)
                }
                #expect(isStream(ends.0) && isStream(ends.1))
                try await eventually("the call is heard, the same in both channels") {
                    let heard = samples(ends.1)
                    let isSame = stride(from: 0, to: heard.count - 1, by: 2).allSatisfy { heard[$0] == heard[$0 + 1] }
                    return isSame && heard.contains { $0 > 0.05 } && heard.allSatisfy { abs($0) <= 1 }
                }
                let block = [Float](repeating: 0.25, count: 160)
                let writing = try ControlLoop.shared.add(ends.0, .writable) { _ in
                    send(ends.0, block, 640, Int32(MSG_DONTWAIT | MSG_NOSIGNAL))
                }
                defer { writing.cancel() }
                try await hears(box, 8_192)
            }
        }

        @Test func `a program that plays to the person is heard in the format that it asks for`() async throws {
            try await Box.run { box in
                let audio = try await box.bridge.audio.play(
                    to: .page, rate: 8_000, sampleFormat: .f32, channels: 2, isStream: true)
                let descriptor = audio.takeDescriptor()
                defer { close(descriptor) }
                #expect(isStream(descriptor))
                let block = [Float](repeating: 0.25, count: 160)
                let writing = try ControlLoop.shared.add(descriptor, .writable) { _ in
                    send(descriptor, block, 640, Int32(MSG_DONTWAIT | MSG_NOSIGNAL))
                }
                defer { writing.cancel() }
                // As 16-bit samples, whatever the volume.
                try await eventually("it is heard, steadily") {
                    let heard = (box.simulation.played("output:speakerphone").last?.samples ?? []).suffix(480)
                    return heard.count == 480 && heard.allSatisfy { (1_000...8_300).contains($0) }
                }
            }
        }

        @Test func `a program that records gets the format that it asks for, as a stream`() async throws {
            try await Box.run(
                configure: { $0.recording = .allow },
                body: { box in
                    try await box.prefer(.none)
                    let registration = try await box.register()
                    let call = try await box.startCall(registration)
                    let tap = try await box.bridge.audio.openTap(
                        call: call, side: .stereo, rate: 8_000, sampleFormat: .f32, isStream: true)
                    #expect(tap.channels == 2 && tap.blockFrames == 80)
                    let descriptor = tap.takeDescriptor()
                    defer { close(descriptor) }
                    #expect(isStream(descriptor))
                    try await eventually("both sides are heard, each in its channel") {
                        let heard = samples(descriptor)
                        func isHeard(_ side: Int) -> Bool {
                            stride(from: side, to: heard.count, by: 2).contains { heard[$0] > 0.05 }
                        }
                        return isHeard(0) && isHeard(1) && heard.allSatisfy { abs($0) <= 1 }
                    }
                })
        }
    }
}
