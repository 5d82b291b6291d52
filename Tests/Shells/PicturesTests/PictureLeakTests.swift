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
    /// Descriptors, threads and memory of this process.
    private struct Possessions: Equatable {
        var descriptors: Int
        var threads: Int
        /// In KiB.
        var mapped: Int
    }

    private func possessions() throws -> Possessions {
        func count(_ path: String) throws -> Int { try FileManager.default.contentsOfDirectory(atPath: path).count }
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmSize:") }
        let size = line?.split(separator: " ").compactMap { Int($0) }.first
        return Possessions(
            descriptors: try count("/proc/self/fd"), threads: try count("/proc/self/task"), mapped: size ?? 0)
    }

    private func round(_ folder: URL) async throws {
        let pictures = LocalPictures(name: "box")
        let viewer = Viewer()
        pictures.begin(Studio.format)
        pictures.hub.add(viewer)
        pictures.capture(Studio.camera("red"), of: "1")
        pictures.show(.camera)
        let views = ViewOutputs(canvas: { _ in FrameSize(320, 240) }, end: "fakesink name=sink")
        views.show([PictureFlow(PlannedView(.local, ViewSettings(.kms), Studio.format), pictures.hub)])
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
        let folder = try Studio.folder()
        defer { try? FileManager.default.removeItem(at: folder) }  // It may stay.
        // Plug-ins are loaded, and pools of threads are filled.
        for _ in 0..<10 { try await round(folder) }
        let before = try possessions()
        for _ in 0..<100 { try await round(folder) }
        try await eventually("all threads have ended", within: .seconds(40)) {
            let now = try possessions()
            return now.threads <= before.threads + 2 && now.descriptors <= before.descriptors
        }
        let after = try possessions()
        // Each thread has a stack of 8 MiB; a leak of one a round would be 800 MiB, one of a picture 11 MiB.
        #expect(after.mapped < before.mapped + 64 * 1024, "\(before) \(after)")
    }
}
