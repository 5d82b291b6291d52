import Cameras
import ControlLoop
import Foundation
import TestSupport
import Testing
import VideoCapture

/// The kernel's side, as far as a machine without a camera has one: directories, nodes that are no camera, processes.
@Suite @ControlPlane struct LinuxCamerasTests {
    private let root = FileManager.default.temporaryDirectory.appending(path: "btcall-cameras-\(UUID().uuidString)")
    private var nodes: String { root.appending(path: "dev").path() }
    private var classes: String { root.appending(path: "class").path() }

    private func make(_ path: String) throws {
        try FileManager.default.createDirectory(at: root.appending(path: path), withIntermediateDirectories: true)
    }

    private func write(_ text: String, to path: String) throws {
        try Data(text.utf8).write(to: root.appending(path: path))
    }

    private func system() -> LinuxCameras {
        LinuxCameras(nodes: nodes, classes: classes, settling: .milliseconds(30))
    }

    @Test func `nodes that are no V4L2 device, and classes without a node, are no cameras`() throws {
        try make("dev")
        try make("class/video0")
        try make("class/video1")
        try make("class/v4l-subdev0")
        defer { try? FileManager.default.removeItem(at: root) }  // It may stay in the temporary directory.
        try write("", to: "dev/video0")
        #expect(system().cameras() == [])
        #expect(LinuxCameras(nodes: nodes, classes: root.appending(path: "nothing").path()).cameras() == [])
    }

    @Test func `a node that is no camera cannot be opened as one`() {
        for path in ["/dev/null", "/nowhere/video0"] {
            #expect(throws: SystemError.self) { try V4L2Camera(path) }
            let camera = Camera(id: "null", path: path, name: "null")
            #expect(throws: CameraError.missing("null")) {
                try CameraSetup(LinuxCameras()).set(camera, to: CaptureRequest())
            }
        }
    }

    @Test func `programs that have a node open are named, at most four, and this one not`() throws {
        try make("dev")
        defer { try? FileManager.default.removeItem(at: root) }  // It may stay in the temporary directory.
        try write("", to: "dev/video0")
        let camera = Camera(id: "a", path: nodes + "/video0", name: "Door")
        let system = LinuxCameras(nodes: nodes, classes: classes, processes: root.appending(path: "proc").path())
        #expect(system.users(of: camera) == [])
        let node = root.appending(path: "dev/video0").resolvingSymlinksInPath().path()
        let own = "\(ProcessInfo.processInfo.processIdentifier)"
        for (process, target) in [("11", node), ("12", "/dev/null"), (own, node), ("self", node)] {
            try make("proc/\(process)/fd")
            try write("program-\(process)\n", to: "proc/\(process)/comm")
            for number in ["0", "7"] {
                try FileManager.default.createSymbolicLink(
                    atPath: root.appending(path: "proc/\(process)/fd/\(number)").path(), withDestinationPath: target)
            }
        }
        #expect(system.users(of: camera) == ["program-11"])
        for process in 20..<30 {
            try make("proc/\(process)/fd")
            try FileManager.default.createSymbolicLink(
                atPath: root.appending(path: "proc/\(process)/fd/3").path(), withDestinationPath: node)
        }
        #expect(system.users(of: camera) == ["program-11", "process 20", "process 21", "process 22"])
    }

    @Test func `S2.27 a camera that comes or goes is noticed, and so is its link`() async throws {
        try make("dev")
        defer { try? FileManager.default.removeItem(at: root) }  // It may stay in the temporary directory.
        let system = system()
        var changes = 0
        system.onChange = { changes += 1 }
        try system.watch()
        try write("", to: "dev/sda")
        try write("", to: "dev/video0")
        try await eventually("the node is reported") { changes >= 1 }
        let known = changes
        try make("dev/v4l/by-path")
        try await eventually("the directory of links is reported") { changes > known }
        let before = changes
        try FileManager.default.createSymbolicLink(
            atPath: nodes + "/v4l/by-path/usb-0-video-index0", withDestinationPath: "../../video0")
        try await eventually("the link is reported") { changes > before }
        system.stop()
        #expect(system.cameras() == [])
    }
}
