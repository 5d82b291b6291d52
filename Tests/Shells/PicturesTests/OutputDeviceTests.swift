import ControlLoop
import Foundation
import Glibc
import Pictures
import TestSupport
import Testing
import VideoCapture
import VideoPlan

/// V4L2 output nodes. A file takes the place of a node: pictures are appended to it.
@Suite(.serialized, .timeLimit(.minutes(3))) @ControlPlane struct OutputDeviceTests {
    /// A busy machine is no frozen camera.
    private let local = LocalPictures(name: "box", stall: .seconds(20))
    private let folder: URL
    private var path: String { folder.appending(path: "video-btcall").path() }
    private static let frameBytes = 320 * 240 * 3 / 2

    init() throws { folder = try Studio.folder() }

    /// Opens the file if it exists, for pictures of 320x240.
    private static func open(_ path: String, _ format: PictureFormat) throws(SystemError) -> OutputDevice.Node {
        let descriptor = try SystemError.check("open") { Glibc.open(path, O_WRONLY | O_APPEND | O_CLOEXEC) }
        return OutputDevice.Node(descriptor: descriptor, width: 320, height: 240)
    }

    private func frames() throws -> [Shot] {
        let bytes = Array(try Data(contentsOf: URL(filePath: path)))
        return stride(from: 0, to: bytes.count - Self.frameBytes + 1, by: Self.frameBytes).map {
            Shot(bytes: Array(bytes[$0..<$0 + Self.frameBytes]), width: 320, height: 240)
        }
    }

    private func flow(_ format: PictureFormat = Studio.format) -> PictureFlow {
        PictureFlow(PlannedView(.local, ViewSettings(.device, device: path), format), local.hub)
    }

    private func begin(_ format: PictureFormat = Studio.format) async throws {
        local.begin(format)
        local.capture(Studio.camera("red", format), of: "1")
        local.show(.camera)
        try await eventually("the camera is seen") { local.isCameraSeen }
    }

    private func end(_ output: OutputDevice) async {
        output.write(nil)
        output.close()
        local.end()
        await output.idle()
        await local.idle()
        try? FileManager.default.removeItem(at: folder)  // It may stay.
    }

    @Test func `a node is open before a call, gets its picture, and a grey one at the end`() async throws {
        try Data().write(to: URL(filePath: path))
        let output = OutputDevice(path, opener: Self.open)
        output.open(Studio.format)
        try await eventually("a reader would find grey pictures") { try frames().count == 2 }
        #expect(!output.isRunning && output.problem == nil)
        try await begin()
        output.write(flow())
        #expect(output.isRunning)
        try await eventually("the picture is written") {
            try frames().count > 5 && frames().last?.has(Studio.red, at: 0.5, 0.5) == true
        }
        output.write(nil)
        try await eventually("the last pictures are grey") {
            try frames().suffix(2).allSatisfy { $0.colour(0.5, 0.5).luma < 60 && $0.colour(0.9, 0.9).red < 140 }
        }
        #expect(!output.isRunning)
        await end(output)
    }

    @Test func `a picture of another size is scaled to that of the node`() async throws {
        try Data().write(to: URL(filePath: path))
        let output = OutputDevice(path, opener: Self.open)
        output.open(Studio.format)
        let wide = PictureFormat(exactWidth: 640, height: 240, rateThousandths: 30_000)
        try await begin(wide)
        output.write(flow(wide))
        try await eventually("the scaled picture is written") {
            try frames().last.map { $0.has(Studio.red, at: 0.5, 0.5) && $0.has(Studio.black, at: 0.5, 0.02) } ?? false
        }
        #expect(output.isRunning)
        await end(output)
    }

    @Test func `a node that comes later is opened then, also in a call`() async throws {
        let output = OutputDevice(path, opener: Self.open)
        output.open(Studio.format)
        #expect("\(try #require(output.problem))" == "\(path): open: No such file or directory (ENOENT)")
        try await begin()
        output.write(flow())
        #expect(!output.isRunning)
        try Data().write(to: URL(filePath: path))
        try await eventually("the picture is written") { try !frames().isEmpty }
        #expect(output.isRunning && output.problem == nil)
        await end(output)
    }

    @Test func `a path that is no output node says so`() async throws {
        let output = OutputDevice("/dev/null")
        output.open(Studio.format)
        #expect("\(try #require(output.problem))".hasPrefix("/dev/null: VIDIOC_S_FMT: "))
        await end(output)
    }

    @Test func `S2.2 a view at a node gets the picture, and closes the node at its end`() async throws {
        try Data().write(to: URL(filePath: path))
        let views = ViewOutputs(opener: Self.open)
        try await begin()
        views.show([flow()])
        #expect(views.status(of: .local) == ViewOutputs.Status(isRunning: true))
        try await eventually("the picture is written") {
            try frames().last?.has(Studio.red, at: 0.5, 0.5) == true
        }
        views.show([])
        #expect(views.status(of: .local) == ViewOutputs.Status())
        await views.idle()
        await end(OutputDevice(path, opener: Self.open))
    }
}
