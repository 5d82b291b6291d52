import AudioEngine
import AudioPaths
import BTCall
import BTCallAPI
import BTCallBench
import BTCallDaemon
import CBTCall
import CallExchange
import ControlLoop
import DBus
import Glibc
import TestSupport
import Testing

extension DaemonTests {
    @Suite @ControlPlane struct InjectionTests {
        /// A call on the loudspeaker, whose microphone records a tone.
        private func call(_ box: Box) async throws -> Call.ID {
            let registration = try await box.register()
            let call = try await box.startCall(registration)
            try await eventually("the far end hears the microphone") {
                Tone.isHeard(in: box.telephone.exchange.takeRecorded())
            }
            return call
        }

        private func isSilent(_ box: Box) async throws {
            try await eventually("the far end hears nothing") {
                let heard = try await recent(box)
                return heard.count == 1600 && heard.allSatisfy { $0 == 0 }
            }
        }

        /// The audio that the far end hears in the next tenth of a second.
        private func recent(_ box: Box) async throws -> ArraySlice<Int16> {
            _ = box.telephone.exchange.takeRecorded()
            await ControlLoop.shared.sleep(for: .milliseconds(150))
            return box.telephone.exchange.takeRecorded().suffix(1600)
        }

        @Test func `S1.17 The far end hears the audio that an application adds, and its end is reported`() async throws
        {
            try await Box.run { box in
                _ = try await call(box)
                try await box.bridge.audio.setMicrophoneVolume(0)
                try await isSilent(box)
                let audio = try await box.bridge.audio.openInjection(rate: 8000)
                #expect(audio.blockFrames == 80 && audio.channels == 1 && !audio.isStream)
                let descriptor = audio.takeDescriptor()
                defer { close(descriptor) }
                // As much as the socket takes at once.
                let block = [Int16](repeating: 8000, count: 80)
                var written = 0
                while send(descriptor, block, 160, Int32(MSG_DONTWAIT)) == 160 { written += 1 }
                #expect(written >= 4)
                try await eventually("the far end hears it") {
                    box.telephone.exchange.takeRecorded().contains { $0 > 7000 }
                }
                shutdown(descriptor, Int32(SHUT_WR))
                var byte: UInt8 = 0
                try await eventually("the daemon closes its end") {
                    recv(descriptor, &byte, 1, Int32(MSG_DONTWAIT)) == 0
                }
            }
        }

        @Test func `S1.15 S1.13 The mute mode decides whether added audio is heard while muted`() async throws {
            try await Box.run { box in
                _ = try await call(box)
                let audio = try await box.bridge.audio.openInjection(isStream: true)
                let descriptor = audio.takeDescriptor()
                defer { close(descriptor) }
                let isOver = Flag()
                let source = try ControlLoop.shared.add(descriptor, .writable) { _ in
                    let samples = [Int16](repeating: 8000, count: 160)
                    if !isOver.isSet { send(descriptor, samples, 320, Int32(MSG_DONTWAIT | MSG_NOSIGNAL)) }
                }
                defer { source.cancel() }
                try await box.bridge.calls.setMuted(true)
                #expect(try await box.bridge.audio.muteMode() == .voiceProcessing)
                try await isSilent(box)
                try await box.bridge.audio.setMuteMode(.inputMixer)
                try await eventually("the added audio is heard, the microphone is not") {
                    let heard = try await recent(box)
                    return heard.count == 1600 && heard.allSatisfy { (7990...8010).contains($0) }
                }
                try await box.bridge.calls.setMuted(false)
                try await eventually("both are heard") {
                    box.telephone.exchange.takeRecorded().suffix(800).contains { $0 > 10_000 }
                }
                isOver.isSet = true
            }
        }

        @Test func `While the only call is held no added audio is read; reading resumes with the call`() async throws {
            try await Box.run { box in
                let registration = try await box.register([.hold])
                let call = try await box.startCall(registration)
                try await eventually("the far end hears the microphone") {
                    Tone.isHeard(in: box.telephone.exchange.takeRecorded())
                }
                let audio = try await box.bridge.audio.openInjection()
                let descriptor = audio.takeDescriptor()
                defer { close(descriptor) }
                try await registration.update(call, .held)
                // The device continues without a call; blocks on their way to the audio thread arrive.
                await ControlLoop.shared.sleep(for: .seconds(1))
                let block = [Int16](repeating: 8000, count: 160)
                while send(descriptor, block, 320, Int32(MSG_DONTWAIT)) == 320 {}
                await ControlLoop.shared.sleep(for: .milliseconds(300))
                let counted: @ControlPlane () -> Int? = {
                    box.daemon.graph.engine.counters().injections.first?.blocksTaken
                }
                #expect(counted() == 0)
                try await registration.update(call, .active)
                try await eventually("it is heard") { (counted() ?? 0) >= 4 }
            }
        }

        private final class Flag { var isSet = false }

        @Test func `S1.24 Volumes outside 0.0 to 1.0 are refused, and valid ones are stored`() async throws {
            try await Box.run { box in
                for volume in [-0.01, 1.01, .nan, .infinity] {
                    for set in [box.bridge.audio.setMicrophoneVolume, box.bridge.audio.setApplicationVolume] {
                        let error = await refusal { () throws(BridgeError) in try await set(volume) }
                        #expect(error?.code == .invalidArgument)
                        #expect(error?.message.contains("accepted: 0.0 to 1.0") == true)
                    }
                }
                #expect(try await box.bridge.audio.microphoneVolume() == 1)
                try await box.bridge.audio.setMicrophoneVolume(0.25)
                try await box.bridge.audio.setApplicationVolume(0.5)
                #expect(try await box.bridge.audio.microphoneVolume() == 0.25)
                #expect(try await box.bridge.audio.applicationVolume() == 0.5)
            }
        }

        @Test func `An unsupported format and a ninth program are refused`() async throws {
            try await Box.run { box in
                var error = await refusal { () throws(BridgeError) in
                    _ = try await box.bridge.audio.openInjection(rate: 11025)
                }
                #expect(error?.message.contains("accepted: 8000, 16000") == true)
                var held: [AudioInjection] = []
                let second = try await CallBridge(bus: .address("\(box.address)"))
                let third = try await CallBridge(bus: .address("\(box.address)"))
                for _ in 1...4 { held.append(try await box.bridge.audio.openInjection()) }
                error = await refusal { () throws(BridgeError) in _ = try await box.bridge.audio.openInjection() }
                #expect(error?.code == .wrongState && error?.message.contains("the most for one program") == true)
                for _ in 1...4 { held.append(try await second.audio.openInjection()) }
                error = await refusal { () throws(BridgeError) in _ = try await third.audio.openInjection() }
                #expect(error?.code == .wrongState && error?.message.contains("8 programs add audio") == true)
                held.removeLast()
                try await eventually("its place is free again") {
                    (try? await third.audio.openInjection()) != nil
                }
                held.removeFirst()
                try await eventually("one of the first program's is") {
                    (try? await box.bridge.audio.openInjection()) != nil
                }
                await second.close()
                await third.close()
            }
        }
    }
}
