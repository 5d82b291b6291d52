import ArgumentParser
import BTCall
import BTCallAPI
import CommandKit
import CommandTestSupport
import ControlLoop
import DBus
import Foundation
import FrameRings
import Glibc
import TestSupport
import Testing

@testable import BTCallCommand

/// `btcall video watch`: a picture for another program.
@Suite(.timeLimit(.minutes(1))) @ControlPlane struct WatchPictureTests {
    private static let call = "/org/btcall/calls/6ba7b810_9dad_11d1_80b4_00c04fd430c8"
    /// Of pictures of 4x2 pixels.
    private static let frameBytes = 12

    /// Rings that a fake btcall-video has opened.
    @ControlPlane
    private final class Rings {
        private(set) var opened: [(call: String, side: String, ring: RingConsumer)] = []

        func open(_ call: String, _ side: String) throws(APIError) -> [Value] {
            do {
                let layout = try FrameLayout(width: 4, height: 2, framesPerSecond: 29.97)
                let (ring, ends) = try RingConsumer.make(layout, onEnd: {})
                opened.append((call, side, ring))
                return [
                    .uint32(7), .unixDescriptor(PassedDescriptor(taking: ends.memory)),
                    .unixDescriptor(PassedDescriptor(taking: ends.wakeUp)),
                ]
            } catch {
                throw APIError(.fault, "\(error)")
            }
        }

        func send(_ value: UInt8) {
            let frame = [UInt8](repeating: value, count: frameBytes)
            frame.withUnsafeBytes { opened.last?.ring.take($0, at: 1, isCard: false) }
        }
    }

    private func watch(_ words: String...) throws -> VideoCommand.Watch {
        try #require(try Entry.command(for: ["video", "watch"] + words) as? VideoCommand.Watch)
    }

    private func withVideo(_ body: (FakeVideo, Rings, BridgeVideo) async throws -> Void) async throws {
        let bus = try PrivateBus()
        let video = try await FakeVideo(bus.address)
        let bridge = try await CallBridge(bus: .address(bus.address))
        let rings = Rings()
        video.tap = { (call, side) throws(APIError) in try rings.open(call, side) }
        try await body(video, rings, bridge.video)
        await bridge.close()
        video.close()
    }

    @Test func `frames are written as YUV4MPEG2 until there are enough of them`() async throws {
        try await withVideo { video, rings, bridge in
            let file = FileManager.default.temporaryDirectory.appending(path: "btcall-watch-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: file) }  // It may stay in the temporary directory.
            let descriptor = open(file.path(), O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
            try #require(descriptor >= 0)
            defer { close(descriptor) }
            let command = try watch("local", "--frames", "2")
            let writing = Task { @ControlPlane in try await command.write(from: bridge, to: descriptor) }
            try await eventually("the ring is open") { rings.opened.count == 1 }
            rings.send(1)
            let header = "YUV4MPEG2 W4 H2 F29970:1000 Ip A1:1 C420jpeg\n"
            let frame = "FRAME\n".utf8.count + Self.frameBytes
            try await eventually("the first frame is written") {
                try Data(contentsOf: file).count == header.utf8.count + frame
            }
            rings.send(2)
            try await writing.value
            let data = try Data(contentsOf: file)
            #expect(data.count == header.utf8.count + 2 * frame)
            #expect(data.prefix(header.utf8.count) == Data(header.utf8))
            #expect(data.suffix(frame) == Data("FRAME\n".utf8) + Data(repeating: 2, count: Self.frameBytes))
            // Without a call it is the camera of the box.
            #expect(rings.opened[0].call == "/" && rings.opened[0].side == "local")
            #expect(video.requests.isEmpty)
        }
    }

    @Test func `it ends with the picture, and takes the call with video`() async throws {
        try await withVideo { video, rings, bridge in
            video.picture = PictureDescription(local: .camera, call: Self.call)
            let null = open("/dev/null", O_WRONLY | O_CLOEXEC)
            defer { close(null) }
            let command = try watch("remote")
            let writing = Task { @ControlPlane in try await command.write(from: bridge, to: null) }
            try await eventually("the ring is open") { rings.opened.count == 1 }
            rings.send(1)
            rings.opened[0].ring.end()
            try await writing.value
            #expect(rings.opened[0].call == Self.call && rings.opened[0].side == "remote")
        }
    }

    @Test func `without a call with video there is no picture of the far end`() async throws {
        try await withVideo { _, rings, bridge in
            do {
                try await watch("remote").write(from: bridge, to: -1)
                Issue.record("it was written")
            } catch {
                #expect("\(error)".hasPrefix("there is no call with video"), "\(error)")
            }
            #expect(rings.opened.isEmpty)
        }
    }

    @Test func `a disk that is full ends it with the reason`() async throws {
        try await withVideo { _, rings, bridge in
            let full = open("/dev/full", O_WRONLY | O_CLOEXEC)
            defer { close(full) }
            do {
                try await watch("local").write(from: bridge, to: full)
                Issue.record("it was written")
            } catch {
                #expect("\(error)".hasPrefix("standard output: "), "\(error)")
            }
            #expect(rings.opened.count == 1)
        }
    }

    @Test func `a number of frames that is none is refused`() {
        for words in [["local", "--frames", "0"], ["local", "--frames", "x"], ["both"], []] {
            #expect(throws: (any Error).self) { try Entry.command(for: ["video", "watch"] + words) }
        }
    }

    @Test(arguments: [(30.0, "F30000:1000"), (0, "F30000:1000"), (.nan, "F30000:1000"), (.infinity, "F30000:1000")])
    func `the rate of the header is one`(rate: Double, text: String) {
        #expect(YUV4MPEG2(-1, width: 4, height: 2, rate: rate).header.contains(" \(text) "))
    }
}
