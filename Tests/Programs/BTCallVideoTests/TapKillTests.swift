import BTCall
import CommandTestSupport
import ControlLoop
import Foundation
import TestSupport
import Testing
import VideoPlan

@testable import btcall_video

/// Clients that are killed, at any point.
@Suite(.timeLimit(.minutes(5)), .serialized) @ControlPlane struct TapKillTests {
    /// Frames for all pictures, in a thread of their own, as from a camera.
    private func camera(_ hub: FakeHub, _ frame: [UInt8]) -> TestThread {
        TestThread { isStopped in
            while !isStopped() {
                for picture in [TapBox.camera, TapBox.local] { hub.give(frame, to: picture) }
                usleep(500)
            }
        }
    }

    /// Runs a client, kills it, and waits until nothing of it is left.
    private func live(_ program: String, in box: TapBox, _ life: () async throws -> Void) async throws {
        let child = try ChildProcess(program, [box.bus.address, FakePictures.call], capturing: .output)
        // Not on the control plane, which serves the client.
        let greeting = await Task { @concurrent in child.read() }.value
        #expect(greeting == "ready\n")
        try await life()
        child.send(SIGKILL)
        _ = await Task { @concurrent in child.finish() }.value
        try await eventually("it is released") { box.table.count == 0 && box.pictures.hub.count == 0 }
        let areEnded = box.pictures.sinks.values.allSatisfy(\.isEnded)
        #expect(areEnded)
    }

    @Test func `S2.3 100 clients killed at any point of a tap leave no descriptor, mapping, tap or picture`()
        async throws
    {
        let box = try await TapBox()
        let program = try #require(BuiltProgram.named("TapClient"))
        let camera = camera(box.pictures.hub, try box.frame(5))
        defer { camera.end() }
        var generator = SeededGenerator(seed: 100)
        var most = 0
        let counting = box.table.changes.subscribe(box) { box in most = max(most, box.table.count) }
        defer { counting.cancel() }
        // The first lives until it has had all kinds of rings.
        try await live(program.path(), in: box) {
            try await eventually("it has had all", within: .seconds(30)) { box.pictures.added >= 3 }
        }
        let (descriptors, mappings) = (try Possessions.descriptors, try Possessions.mappedRings)
        for _ in 1...100 {
            try await live(program.path(), in: box) {
                await ControlLoop.shared.sleep(for: .microseconds(generator.below(30_000)))
            }
        }
        // They were killed in the midst of something.
        #expect(most >= 3 && box.pictures.added > 100)
        try await eventually("all is given back") {
            try Possessions.descriptors <= descriptors && Possessions.mappedRings <= mappings
        }
        #expect(try await box.taps() == 0)
        await box.stop()
    }
}
