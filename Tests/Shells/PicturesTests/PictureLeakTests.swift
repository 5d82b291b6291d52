import ControlLoop
import Foundation
import Glibc
import Pictures
import TestSupport
import Testing
import VideoCapture
import VideoPlan

/// What starts and stops leaves nothing behind.
@Suite(.serialized, .timeLimit(.minutes(5))) @ControlPlane struct PictureLeakTests {
    /// What this process has.
    private struct Possessions: Equatable {
        var descriptors: Int
        var threads: Int
        var mappings: Int
        /// Memory of no file, in KiB.
        var memory: Int
    }

    private static let format = PictureFormat(exactWidth: 640, height: 480, rateThousandths: 30_000)

    private func possessions() throws -> Possessions {
        func count(_ path: String) throws -> Int { try FileManager.default.contentsOfDirectory(atPath: path).count }
        func lines(_ path: String) throws -> [Substring] {
            try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
        }
        let line = try lines("/proc/self/status").first { $0.hasPrefix("RssAnon:") }
        let memory = line?.split { $0 == " " || $0 == "\t" }.compactMap { Int($0) }.first
        return Possessions(
            descriptors: try count("/proc/self/fd"), threads: try count("/proc/self/task"),
            mappings: try lines("/proc/self/maps").count, memory: try #require(memory))
    }

    private func round() async throws {
        let pictures = LocalPictures(name: "box")
        let viewer = Viewer()
        pictures.begin(Self.format)
        pictures.hub.add(viewer)
        pictures.capture(Studio.camera("red", Self.format), of: "1")
        pictures.show(.camera)
        let views = ViewOutputs(canvas: { _ in FrameSize(320, 240) }, end: "fakesink name=sink")
        views.show([PictureFlow(PlannedView(.local, ViewSettings(.kms), Self.format), pictures.hub)])
        try await eventually("a picture has come, and the view runs") {
            viewer.seen.pictures > 0 && views.status(of: .local).isRunning
        }
        views.show([])
        pictures.end()
        await views.idle()
        await pictures.idle()
        #expect(viewer.seen.hasEnded)
    }

    @Test func `100 starts and stops leave no descriptor, thread or mapping`() async throws {
        // Plug-ins are loaded, and pools of threads are filled.
        for _ in 0..<20 { try await round() }
        let before = try possessions()
        for _ in 0..<100 { try await round() }
        try await eventually("all threads have ended", within: .seconds(60)) {
            let now = try possessions()
            return now.threads <= before.threads + 2 && now.descriptors <= before.descriptors
        }
        let after = try possessions()
        // One of each round would be 100 mappings; one picture of each round 45 MB.
        #expect(after.mappings < before.mappings + 60, "\(before) \(after)")
        #expect(after.memory < before.memory + 24_000, "\(before) \(after)")
    }
}
