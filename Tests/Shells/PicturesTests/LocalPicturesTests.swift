import ControlLoop
import Foundation
import Glibc
import Pictures
import TestSupport
import Testing
import VideoCapture
import VideoPlan

/// The picture that the far end gets.
@Suite(.serialized, .timeLimit(.minutes(3))) @ControlPlane struct LocalPicturesTests {
    /// A busy machine is no frozen camera.
    private let pictures = LocalPictures(name: "Front door <1>", stall: .seconds(20))
    private let viewer = Viewer()

    private func begin(_ format: PictureFormat = Studio.format) { begin(pictures, format) }

    private func begin(_ pictures: LocalPictures, _ format: PictureFormat = Studio.format) {
        pictures.begin(format)
        pictures.hub.add(viewer)
    }

    private func end() async { await end(pictures) }

    private func end(_ pictures: LocalPictures) async {
        pictures.end()
        await pictures.idle()
    }

    @Test func `a picture begins with the card, which has the box's name`() async throws {
        let format = PictureFormat(exactWidth: 640, height: 480, rateThousandths: 30_000)
        begin(format)
        try await eventually("the card has text") { viewer.seen.cards > 2 && viewer.shot(format).detail > 0.2 }
        let shot = viewer.shot(format)
        try shot.keep("card")
        // Light text on a dark card, which is the same at all corners.
        #expect(shot.bytes.prefix(640 * 480).max() ?? 0 > 180)
        for (x, y) in [(0.02, 0.02), (0.98, 0.02), (0.02, 0.98), (0.98, 0.98)] { #expect(shot.colour(x, y).luma < 70) }
        #expect(viewer.seen.pictures == 0 && !pictures.isCameraSeen && pictures.cardProblem == nil)
        await end()
        #expect(viewer.seen.hasEnded)
    }

    @Test func `the camera's picture is given once it comes, until the card is shown`() async throws {
        begin()
        pictures.capture(Studio.camera("red"), of: "1")
        pictures.show(.camera)
        try await eventually("the camera is seen") { viewer.seen.pictures > 3 }
        #expect(pictures.isCameraSeen && pictures.devices == ["1"])
        #expect(viewer.shot(Studio.format).has(Studio.red, at: 0.5, 0.5))
        pictures.show(.card)
        let before = viewer.seen
        try await eventually("the card is repeated") { viewer.seen.cards > before.cards + 5 }
        // Not one picture of the camera has come after the card was asked for.
        #expect(viewer.seen.pictures == before.pictures && viewer.seen.isCard)
        await end()
        #expect(pictures.devices == [])
    }

    @Test func `a camera of another shape has black borders, and the size stays`() async throws {
        begin()
        let wide = PictureFormat(exactWidth: 320, height: 120, rateThousandths: 30_000)
        let source = "videotestsrc is-live=true pattern=red ! \(wide.caps)"
        pictures.capture(PipelinePlan("\(source) ! \(PipelinePlan.captured(Studio.format))"), of: "1")
        pictures.show(.camera)
        try await eventually("the camera is seen") { viewer.seen.pictures > 0 }
        let shot = viewer.shot(Studio.format)
        #expect(shot.bytes.count == 320 * 240 * 3 / 2)
        #expect(shot.has(Studio.red, at: 0.5, 0.5) && shot.has(Studio.black, at: 0.5, 0.02))
        await end()
    }

    @Test func `S2.27 another camera replaces the one before without a card between`() async throws {
        begin()
        pictures.capture(Studio.camera("red"), of: "1")
        pictures.show(.camera)
        try await eventually("the first camera is seen") { viewer.seen.pictures > 3 }
        let cards = viewer.seen.cards
        pictures.capture(Studio.camera("blue"), of: "2")
        #expect(pictures.devices == ["1", "2"])
        try await eventually("the second camera is seen") {
            viewer.shot(Studio.format).has(Studio.blue, at: 0.5, 0.5)
        }
        try await eventually("the first camera is closed") { pictures.devices == ["2"] }
        #expect(viewer.seen.cards == cards)
        await end()
    }

    @Test func `where two cameras cannot be open, the first is closed before the second opens`() async throws {
        let folder = try Studio.folder()
        defer { try? FileManager.default.removeItem(at: folder) }  // It may stay.
        let pictures = LocalPictures(name: "box")
        begin(pictures)
        pictures.capture(Studio.camera("red"), of: "1")
        pictures.show(.camera)
        try await eventually("the first camera is seen") { viewer.seen.pictures > 3 }
        // It fails as long as the file is missing, as a busy camera does.
        let source = "filesrc location=\(folder.path())/raw ! \(PipelinePlan.captured(Studio.format))"
        pictures.capture(PipelinePlan(source), of: "2")
        try await eventually("the first camera is closed") { pictures.devices == ["2"] }
        try await eventually("the second one's problem is told") { pictures.cameraProblem != nil }
        try await eventually("the card is shown instead") { viewer.seen.isCard }
        pictures.capture(Studio.camera("blue"), of: "2")
        try await eventually("the second camera is seen") {
            viewer.shot(Studio.format).has(Studio.blue, at: 0.5, 0.5)
        }
        await end(pictures)
    }

    @Test func `a camera that is closed and wanted again at once is not open twice`() async throws {
        begin()
        // A port of UDP belongs to one at a time, as a camera does.
        let port = try Studio.freePort()
        let device = "udpsrc address=127.0.0.1 port=\(port) reuse=false ! fakesink async=false sync=false "
        let plan = PipelinePlan(device + Studio.camera("red").description)
        var problems: [PictureError] = []
        pictures.changes.subscribe { [pictures] _ in problems += [pictures.cameraProblem].compactMap(\.self) }
        for _ in 0..<10 {
            pictures.capture(plan, of: "1")
            pictures.show(.camera)
            try await eventually("the camera is seen") { pictures.isCameraSeen }
            pictures.show(.card)
            pictures.capture(nil)
        }
        #expect(problems == [])
        await end()
    }

    @Test func `a camera that freezes is replaced by the card, and by its picture when that comes back`() async throws {
        let pictures = LocalPictures(name: "box")
        begin(pictures)
        pictures.capture(Studio.camera("red"), of: "1")
        pictures.show(.camera)
        try await eventually("the camera is seen") { viewer.seen.pictures > 3 }
        // One picture in 30 s: its pipeline runs, and nothing comes.
        let frozen =
            "videotestsrc is-live=true pattern=red ! "
            + "video/x-raw,format=I420,width=320,height=240,framerate=1/30 ! \(PipelinePlan.captured(Studio.format))"
        pictures.capture(PipelinePlan(frozen), of: "1")
        try await eventually("the card is shown") { viewer.seen.isCard && !pictures.isCameraSeen }
        pictures.capture(Studio.camera("blue"), of: "1")
        try await eventually("the camera is seen again") {
            viewer.shot(Studio.format).has(Studio.blue, at: 0.5, 0.5)
        }
        await end(pictures)
    }

    @Test func `a camera that fails says why, and is tried again`() async throws {
        begin()
        pictures.capture(
            .camera(
                "/dev/no-such-camera",
                CaptureSettings(
                    try #require(PixelFormat("YUYV")), try #require(FrameSize(640, 480)),
                    FrameRate(thousandths: 30_000)), Studio.format), of: "1")
        pictures.show(.camera)
        try await eventually("the failure is known") { pictures.cameraProblem != nil }
        let text = "\(try #require(pictures.cameraProblem))"
        #expect(text.contains("/dev/no-such-camera"), "\(text)")
        #expect(viewer.seen.pictures == 0)
        pictures.capture(Studio.camera("red"), of: "1")
        try await eventually("the camera is seen") { viewer.seen.pictures > 0 && pictures.cameraProblem == nil }
        await end()
    }

    @Test func `a consumer that is removed gets nothing more, and the others go on`() async throws {
        let other = Viewer()
        begin()
        pictures.hub.add(other)
        try await eventually("both get the card") { viewer.seen.cards > 1 && other.seen.cards > 1 }
        pictures.hub.remove(viewer)
        let (count, rest) = (viewer.seen.cards, other.seen.cards)
        try await eventually("the other goes on") { other.seen.cards > rest + 3 }
        #expect(viewer.seen.cards == count)
        await end()
        #expect(other.seen.hasEnded && !viewer.seen.hasEnded)
    }
}
