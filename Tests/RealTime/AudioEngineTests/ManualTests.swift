import AudioDSP
import CBTCall
import Foundation
import Testing

@testable import AudioEngine

/// Every sample contains its number, from 1 on: enough for 187 blocks of 10 ms at 16 kHz.
private func numbered(_ sample: Int) -> Int16 { Int16(sample % 30_000 + 1) }

/// An application in place of a device.
private final class Renderer {
    let uplink: Int32
    let downlink: Int32
    private(set) var heard: [[Int16]] = []

    init(
        _ engine: AudioEngine, id: UInt32 = 1, rate: Int = 16_000, layout: SampleLayout = SampleLayout(),
        isStream: Bool = false
    ) throws {
        let type = isStream ? SOCK_STREAM : SOCK_SEQPACKET
        var up: [Int32] = [-1, -1]
        var down: [Int32] = [-1, -1]
        _ = socketpair(AF_UNIX, Int32(type.rawValue), 0, &up)
        _ = socketpair(AF_UNIX, Int32(type.rawValue), 0, &down)
        (uplink, downlink) = (up[1], down[1])
        try engine.attachManual(
            id, uplink: up[0], downlink: down[0], rate: rate, layout: layout, isStream: isStream)
    }

    /// Writes blocks of numbered samples, all at once.
    func say(blocks: Int) {
        for block in 0..<blocks {
            let samples = (0..<160).map { numbered(block * 160 + $0) }
            #expect(send(uplink, samples, 320, Int32(MSG_NOSIGNAL)) == 320)
        }
    }

    /// Reads the waiting audio.
    func listen() {
        var block = [Int16](repeating: 0, count: 160)
        while recv(downlink, &block, 320, Int32(MSG_DONTWAIT)) == 320 { heard.append(block) }
    }

    func isReleased() -> Bool {
        var byte: UInt8 = 0
        return recv(uplink, &byte, 1, Int32(MSG_DONTWAIT)) == 0
    }

    deinit {
        close(uplink)
        close(downlink)
    }
}

extension RealtimeTests {
    @Suite struct Manual {
        private func counted(_ bench: EngineBench) -> EngineCounters.Manual {
            bench.engine.counters().manual ?? EngineCounters.Manual(id: 0)
        }

        @Test func `S1.21 The far end hears exactly the bytes that are written, and then silence that is counted`()
            throws
        {
            let bench = try EngineBench()
            let renderer = try Renderer(bench.engine)
            let provider = try bench.makeCall(7, rate: 16_000, source: { _ in 0 })
            #expect(bench.waitUntil { provider.blocks >= 20 })
            renderer.say(blocks: 100)
            #expect(bench.waitUntil { self.counted(bench).blocksTaken >= 100 })
            let missing = counted(bench).blocksMissing
            // It continues without the application.
            #expect(bench.waitUntil { self.counted(bench).blocksMissing >= missing + 30 })
            let position = provider.blocks
            #expect(bench.waitUntil { provider.blocks >= position + 30 })
            let heard = provider.received
            let first = try #require(heard.firstIndex { $0 != 0 })
            #expect(heard[..<first].allSatisfy { $0 == 0 })
            #expect(Array(heard[first..<first + 16_000]) == (0..<16_000).map(numbered))
            #expect(heard[(first + 16_000)...].allSatisfy { $0 == 0 })
            // And resumes with it.
            renderer.say(blocks: 3)
            #expect(bench.waitUntil { self.counted(bench).blocksTaken >= 103 })
            #expect(bench.engine.counters().terminals.isEmpty)
            provider.stop()
            bench.engine.stop()
        }

        @Test func `S1.22 The application receives the calls' audio sample for sample`() throws {
            let bench = try EngineBench()
            let renderer = try Renderer(bench.engine)
            let provider = try bench.makeCall(7, rate: 16_000, source: numbered)
            #expect(
                bench.waitUntil {
                    renderer.listen()
                    return renderer.heard.count >= 120
                })
            let call = try #require(bench.call(7))
            provider.stop()
            bench.engine.stop()
            // A late block is noise, a surplus one is dropped; both are counted.
            let exact = renderer.heard.filter { block in
                block.indices.allSatisfy { block[$0] == numbered(Int(block[0]) - 1 + $0) }
            }
            #expect(renderer.heard.count - exact.count <= call.blocksMissing)
            #expect(exact.count >= 60)
            var left = 0
            for (one, next) in zip(exact, exact.dropFirst()) {
                #expect(next[0] > one[0])
                left += (Int(next[0]) - Int(one[0])) / 160 - 1
            }
            #expect(left <= call.blocksDropped + call.blocksDiscarded)
        }

        @Test func `Two calls are mixed, and each far end hears the same`() throws {
            let bench = try EngineBench()
            let renderer = try Renderer(bench.engine)
            let first = try bench.makeCall(7, rate: 16_000, source: tone(500, rate: 16_000))
            let second = try bench.makeCall(8, rate: 16_000, source: tone(1_500, rate: 16_000))
            #expect(
                bench.waitUntil {
                    renderer.listen()
                    return renderer.heard.count >= 150
                })
            let heard = Array(renderer.heard.joined()).suffix(3_200)
            #expect(toneShare(heard, hertz: 500, rate: 16_000) > 0.4)
            #expect(toneShare(heard, hertz: 1_500, rate: 16_000) > 0.4)
            renderer.say(blocks: 10)
            let said = (0..<1_600).map(numbered)
            for provider in [first, second] {
                #expect(
                    bench.waitUntil {
                        let heard = provider.received
                        guard let start = heard.firstIndex(where: { $0 != 0 }), heard.count >= start + 1_600 else {
                            return false
                        }
                        return Array(heard[start..<start + 1_600]) == said
                    })
                provider.stop()
            }
            bench.engine.stop()
        }

        @Test(arguments: [Muting.microphone, .everything])
        func `Muting removes the written audio from the far end`(muting: Muting) throws {
            let bench = try EngineBench()
            let renderer = try Renderer(bench.engine)
            let provider = try bench.makeCall(7, rate: 16_000, source: { _ in 0 })
            bench.engine.setMuting(muting)
            #expect(bench.waitUntil { provider.blocks >= 20 })
            renderer.say(blocks: 20)
            #expect(bench.waitUntil { self.counted(bench).blocksTaken >= 20 })
            let blocks = provider.blocks
            #expect(bench.waitUntil { provider.blocks >= blocks + 10 })
            #expect(provider.received.allSatisfy { $0 == 0 })
            provider.stop()
            bench.engine.stop()
        }

        @Test func `An application that does not read loses blocks, which are counted; the call continues`() throws {
            let bench = try EngineBench()
            let renderer = try Renderer(bench.engine)
            var size: Int32 = 4_096
            // The daemon limits the room; here the reader does.
            _ = setsockopt(renderer.downlink, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
            let provider = try bench.makeCall(7, rate: 16_000, source: numbered)
            #expect(bench.waitUntil(seconds: 20) { self.counted(bench).blocksDropped >= 20 })
            let blocks = provider.blocks
            #expect(bench.waitUntil { provider.blocks >= blocks + 30 })
            #expect(counted(bench).blocksGiven > 0)
            provider.stop()
            bench.engine.stop()
        }

        @Test(arguments: [true, false], [true, false])
        func `Closing either descriptor ends it, during a call when all its audio has been played`(
            isUplink: Bool, hasCall: Bool
        ) throws {
            let bench = try EngineBench()
            let renderer = try Renderer(bench.engine)
            let provider = try hasCall ? bench.makeCall(7, rate: 16_000, source: { _ in 0 }) : nil
            if let provider {
                #expect(bench.waitUntil { provider.blocks >= 20 })
                renderer.say(blocks: 15)
            }
            shutdown(isUplink ? renderer.uplink : renderer.downlink, Int32(SHUT_RDWR))
            #expect(bench.wait { $0 == .manualEnded(1) } != nil)
            #expect(bench.engine.counters().manual == nil)
            #expect(renderer.isReleased())
            if let provider {
                let said = (0..<2_400).map(numbered)
                #expect(
                    bench.waitUntil {
                        let heard = provider.received
                        guard let start = heard.firstIndex(of: 1), heard.count >= start + 2_400 else { return false }
                        return Array(heard[start..<start + 2_400]) == said
                    })
                provider.stop()
            }
            bench.engine.stop()
        }

        @Test func `It begins when the previous device has faded out, and a device takes the call back`() throws {
            let bench = try EngineBench()
            let headset = try bench.makeHeadset(
                1, .pcm(rate: 16_000), .pcm16(rate: 16_000), packetBytes: 320, source: tone(500, rate: 16_000))
            bench.engine.route(to: 1)
            #expect(bench.wait { isRouted($0, 1) } != nil)
            let provider = try bench.makeCall(7, rate: 16_000, source: { _ in 0 })
            #expect(bench.waitUntil { provider.blocks >= 20 })
            let renderer = try Renderer(bench.engine)
            renderer.say(blocks: 50)
            bench.engine.route(to: nil)
            #expect(bench.waitUntil { self.counted(bench).blocksTaken >= 50 })
            bench.engine.route(to: 1)
            #expect(bench.wait { isRouted($0, 1) } != nil)
            bench.engine.detachManual()
            #expect(bench.wait { $0 == .manualEnded(1) } != nil)
            let said = (0..<8_000).map(numbered)
            let heard = provider.received
            let places = heard.indices.filter { heard[$0] == 1 && heard.count >= $0 + 8_000 }
            #expect(places.contains { Array(heard[$0..<$0 + 8_000]) == said })
            let position = heard.count
            #expect(bench.waitUntil { provider.received.count >= position + 6_400 })
            #expect(toneShare(provider.received.suffix(3_200), hertz: 500, rate: 16_000) > 0.9)
            headset.peer.stop()
            provider.stop()
            bench.engine.stop()
            close(headset.descriptor)
        }

        @Test func `A second one is refused while there is one`() throws {
            let bench = try EngineBench()
            let renderer = try Renderer(bench.engine)
            #expect(throws: AudioEngineError.tooMany(limit: 1)) { _ = try Renderer(bench.engine, id: 2) }
            bench.engine.detachManual()
            #expect(bench.wait { $0 == .manualEnded(1) } != nil)
            #expect(renderer.isReleased())
            _ = try Renderer(bench.engine, id: 2)
            bench.engine.stop()
        }

        @Test func `A stream of two channels of floating point is converted both ways`() throws {
            let bench = try EngineBench()
            let renderer = try Renderer(
                bench.engine, rate: 48_000, layout: SampleLayout(.f32, channels: 2), isStream: true)
            let provider = try bench.makeCall(7, rate: 16_000, source: tone(1_000, rate: 16_000))
            let said = tone(500, rate: 48_000)
            var written = 0
            var heard: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 10_000)
            #expect(
                bench.waitUntil(seconds: 10) {
                    while written < 96_000 {
                        let pair = (written..<written + 160).flatMap { index -> [Float] in
                            let value = Float(said(index)) / 32_768
                            return [value, value]
                        }
                        let sent = pair.withUnsafeBytes {
                            send(renderer.uplink, $0.baseAddress, $0.count, Int32(MSG_DONTWAIT | MSG_NOSIGNAL))
                        }
                        if sent < pair.count * 4 { break }
                        written += 160
                    }
                    while true {
                        let count = recv(renderer.downlink, &buffer, buffer.count, Int32(MSG_DONTWAIT))
                        if count <= 0 { break }
                        heard += buffer[..<count]
                    }
                    return provider.blocks >= 60 && heard.count >= 48_000 * 8 / 2
                })
            #expect(toneShare(provider.received.suffix(3_200), hertz: 500, rate: 16_000) > 0.95)
            let values = heard.withUnsafeBytes { bytes in
                stride(from: 0, to: bytes.count / 8 * 8, by: 8).map {
                    Int16(bytes.loadUnaligned(fromByteOffset: $0, as: Float.self) * 32_767)
                }
            }
            #expect(toneShare(values.suffix(9_600), hertz: 1_000, rate: 48_000) > 0.95)
            provider.stop()
            bench.engine.stop()
        }
    }
}
