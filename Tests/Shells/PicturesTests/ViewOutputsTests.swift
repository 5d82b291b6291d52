import ControlLoop
import Foundation
import Glibc
import Pictures
import TestSupport
import Testing
import VideoCapture
import VideoPlan

/// Displays, picture in picture, output nodes.
@Suite(.serialized, .timeLimit(.minutes(3))) @ControlPlane struct ViewOutputsTests {
    /// A busy machine is no frozen camera.
    private let local = LocalPictures(name: "box", stall: .seconds(20))
    private let remote = FrameHub()
    private let folder: URL
    private static let canvas = (width: 640, height: 480)

    init() throws { folder = try Studio.folder() }

    private func views() -> ViewOutputs {
        ViewOutputs(canvas: { _ in FrameSize(Self.canvas.width, Self.canvas.height) }, end: Studio.end(folder))
    }

    private func flow(_ settings: ViewSettings) -> PictureFlow {
        PictureFlow(PlannedView(.local, settings, Studio.format), local.hub)
    }

    private func begin(_ pattern: String) async throws {
        local.begin(Studio.format)
        local.capture(Studio.camera(pattern), of: "1")
        local.show(.camera)
        try await eventually("the camera is seen") { local.isCameraSeen }
    }

    private func end(_ views: ViewOutputs) async {
        views.show([])
        local.end()
        await views.idle()
        await local.idle()
        try? FileManager.default.removeItem(at: folder)  // It may stay.
    }

    private func newest() throws -> Shot? { try Studio.newest(folder, Self.canvas.width, Self.canvas.height) }

    @Test func `S2.2 a view shows the picture on all of the display`() async throws {
        try await begin("smpte")
        let views = views()
        views.show([flow(ViewSettings(.kms))])
        try await eventually("the view runs") { views.status(of: .local).isRunning }
        // The third bar is cyan, the last one blue.
        try await eventually("the picture is shown") {
            try newest().map { $0.colour(0.95, 0.3).blue > 180 && $0.colour(0.35, 0.3).red < 100 } ?? false
        }
        try newest()?.keep("preview")
        #expect(views.status(of: .remote) == ViewOutputs.Status())
        await end(views)
        #expect(views.status(of: .local) == ViewOutputs.Status())
    }

    @Test(arguments: [90, 180, 270])
    func `S2.2 a rotated view is turned clockwise`(rotation: Int) async throws {
        // Red on the left, black on the right.
        local.begin(Studio.format)
        let half =
            "videotestsrc is-live=true pattern=red ! \(Studio.format.caps) ! videobox right=160 ! "
            + "videobox right=-160 fill=black ! \(PipelinePlan.captured(Studio.format))"
        local.capture(PipelinePlan(half), of: "1")
        local.show(.camera)
        let views = views()
        views.show([flow(ViewSettings(.kms, rotation: rotation))])
        let places: [Int: (red: (Double, Double), black: (Double, Double))] = [
            90: ((0.5, 0.1), (0.5, 0.9)), 180: ((0.9, 0.5), (0.1, 0.5)), 270: ((0.5, 0.9), (0.5, 0.1)),
        ]
        let place = try #require(places[rotation])
        try await eventually("the turned picture is shown") {
            try newest().map {
                $0.has(Studio.red, at: place.red.0, place.red.1)
                    && $0.has(Studio.black, at: place.black.0, place.black.1)
            } ?? false
        }
        await end(views)
    }

    @Test func `S2.2 a rectangle leaves the rest of the display black`() async throws {
        try await begin("red")
        let views = views()
        let rectangle = try #require(PictureRectangle("320,0,320x240"))
        views.show([flow(ViewSettings(.fbdev, rectangle: rectangle))])
        try await eventually("the picture is shown") {
            try newest().map { $0.has(Studio.red, at: 0.75, 0.25) && $0.has(Studio.black, at: 0.25, 0.75) } ?? false
        }
        await end(views)
    }

    @Test func `S2.3 picture in picture has the local one above the remote one`() async throws {
        try await begin("red")
        let views = views()
        let size = PictureFormat(exactWidth: 640, height: 480, rateThousandths: 30_000)
        let source = RemoteSource(Studio.camera("smpte", size), remote)
        source.run(true)
        try await eventually("the remote picture has its size") { source.format == size }
        views.show([
            flow(ViewSettings(.kms)), PictureFlow(PlannedView(.remote, ViewSettings(.kms), size), remote),
        ])
        try await eventually("both are shown") {
            try newest().map { $0.has(Studio.red, at: 0.85, 0.85) && $0.colour(0.35, 0.3).red < 100 } ?? false
        }
        try newest()?.keep("picture-in-picture")
        #expect(views.status(of: .local).isRunning && views.status(of: .remote).isRunning)
        // Without the remote picture the local one has all of the display.
        views.show([flow(ViewSettings(.kms))])
        try await eventually("the local one is alone") {
            try newest().map { $0.has(Studio.red, at: 0.2, 0.2) && $0.has(Studio.red, at: 0.85, 0.85) } ?? false
        }
        source.run(false)
        await source.idle()
        await end(views)
    }

    @Test func `a display that cannot be opened says why, and the picture goes on`() async throws {
        try await begin("red")
        let viewer = Viewer()
        local.hub.add(viewer)
        let views = ViewOutputs(canvas: { _ in FrameSize(640, 480) })
        views.show([flow(ViewSettings(.kms, device: "/dev/dri/no-such-card"))])
        try await eventually("the problem is known") { views.status(of: .local).problem != nil }
        #expect(
            views.status(of: .local)
                == ViewOutputs.Status(
                    isRunning: false,
                    problem: "/dev/dri/no-such-card: open: No such file or directory (ENOENT)"))
        let count = viewer.seen.pictures
        try await eventually("the picture goes on") { viewer.seen.pictures > count + 10 }
        await end(views)
    }

    @Test func `a missing element is named with its package`() {
        let element = PipelinePlan.Element("no-such-element", in: "gstreamer1.0-nothing")
        #expect(throws: PictureError.missing(element)) { try GStreamer.check([element]) }
        #expect(
            "\(PictureError.missing(element))"
                == "GStreamer's element no-such-element is not installed: install the package gstreamer1.0-nothing")
    }

    @Test(arguments: [
        ("connected", "1920x1080\n1280x720\n", 1920, 1080), ("connected", "720x576i\n", 720, 576),
        ("disconnected", "1920x1080\n", 1280, 720), ("connected", "", 1280, 720),
    ])
    func `a display has the size of its preferred mode`(
        status: String, modes: String, width: Int, height: Int
    ) throws {
        let display = folder.appending(path: "card7-HDMI-A-1")
        try FileManager.default.createDirectory(at: display, withIntermediateDirectories: true)
        try status.write(to: display.appending(path: "status"), atomically: true, encoding: .utf8)
        try modes.write(to: display.appending(path: "modes"), atomically: true, encoding: .utf8)
        let settings = ViewSettings(.kms, device: "/dev/dri/card7")
        #expect(DisplaySize.size(of: settings, drm: folder.path()) == FrameSize(width, height))
        #expect(DisplaySize.size(of: ViewSettings(.wayland), drm: folder.path()) == FrameSize(width, height))
        try? FileManager.default.removeItem(at: folder)  // It may stay.
    }
}
