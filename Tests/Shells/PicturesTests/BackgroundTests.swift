import ControlLoop
import Foundation
import Pictures
import TestSupport
import Testing
import VideoPlan

/// What is behind the person.
@Suite(.serialized, .timeLimit(.minutes(3))) @ControlPlane struct BackgroundTests {
    /// A busy machine is no frozen camera.
    private let pictures = LocalPictures(name: "box", stall: .seconds(20))
    private let viewer = Viewer()
    private static let format = PictureFormat(exactWidth: 640, height: 480, rateThousandths: 30_000)
    /// Why there is no virtual background here; nil: there is.
    nonisolated static let absence: String? = {
        do throws(PictureError) {
            try GStreamer.check(PipelinePlan.backgroundNeeds)
            return nil
        } catch {
            return "\(error)"
        }
    }()

    private func end() async {
        pictures.end()
        await pictures.idle()
    }

    private func begin(_ choice: BackgroundChoice, _ camera: PipelinePlan) {
        pictures.setBackground(choice)
        pictures.begin(Self.format)
        pictures.hub.add(viewer)
        pictures.capture(camera, of: "1")
        pictures.show(.camera)
    }

    @Test(.enabled(if: absence == nil, Comment(rawValue: absence ?? "")))
    func `S2.3 with blur the room has no detail, and what moves has`() async throws {
        begin(.blur, Studio.room(Self.format))
        try await eventually("pictures with a background come", within: .seconds(30)) {
            pictures.isBackgrounded && viewer.seen.pictures > 20
        }
        let shot = viewer.shot(Self.format)
        try shot.keep("blur")
        #expect(pictures.isBackgrounded)
        // The border between two bars of the room, which is sharp without the blur.
        let border = (0..<9).map { shot.colour(1.0 / 7 + Double($0 - 4) / 640, 0.1).luma }
        #expect(abs((border.first ?? 0) - (border.last ?? 0)) < 40, "\(border)")
        // The ball is white.
        #expect(shot.bytes.prefix(640 * 480).max() ?? 0 > 200)
        await end()
    }

    @Test(.enabled(if: absence == nil, Comment(rawValue: absence ?? "")))
    func `S2.3 with a picture the room is not seen`() async throws {
        let folder = try Studio.folder()
        defer { try? FileManager.default.removeItem(at: folder) }  // It may stay.
        let file = folder.appending(path: "green.png").path()
        try makeFile(file, "green")
        begin(.picture(file), Studio.room(Self.format))
        try await eventually("pictures with a background come", within: .seconds(30)) {
            pictures.isBackgrounded && viewer.seen.pictures > 20
        }
        let shot = viewer.shot(Self.format)
        try shot.keep("background")
        for (x, y) in [(0.05, 0.05), (0.95, 0.05), (0.05, 0.5), (0.95, 0.5)] {
            #expect(shot.has(Studio.green, at: x, y), "\(shot.colour(x, y))")
        }
        pictures.setBackground(.off)
        try await eventually("the room is seen") { !viewer.shot(Self.format).has(Studio.green, at: 0.05, 0.5) }
        #expect(!pictures.isBackgrounded && pictures.backgroundProblem == nil)
        await end()
    }

    @Test func `a file that is missing shows nothing of the room`() async throws {
        begin(.picture("/no/such/picture.png"), Studio.camera("red", Self.format))
        try await eventually("the problem is known") { pictures.backgroundProblem != nil }
        #expect("\(try #require(pictures.backgroundProblem))".contains("/no/such/picture.png"))
        let cards = viewer.seen.cards
        try await eventually("the card is shown") { viewer.seen.cards > cards + 5 }
        #expect(viewer.seen.pictures == 0)
        await end()
    }

    @Test(arguments: [
        ("text", "is not accepted; accepted: a PNG or JPEG file"), ("cut", "picture.png: "),
        ("missing", "No such file"), ("folder", "is a directory"),
    ])
    func `a file that is no picture is refused`(kind: String, text: String) async throws {
        let folder = try Studio.folder()
        defer { try? FileManager.default.removeItem(at: folder) }  // It may stay.
        let file = folder.appending(path: "picture.png")
        switch kind {
        case "text": try Data("hello".utf8).write(to: file)
        case "folder": try FileManager.default.createDirectory(at: file, withIntermediateDirectories: false)
        case "cut":
            try makeFile(file.path(), "red")
            try Data(contentsOf: file).prefix(60).write(to: file)
        default: break
        }
        var refusal: PictureError?
        do throws(PictureError) {
            try await BackgroundFile.check(file.path())
        } catch {
            refusal = error
        }
        #expect(refusal.map { "\($0)".contains(text) } == true, "\(refusal.map { "\($0)" } ?? "accepted")")
    }

    @Test func `PNG and JPEG files are accepted`() async throws {
        let folder = try Studio.folder()
        defer { try? FileManager.default.removeItem(at: folder) }  // It may stay.
        for name in ["a.png", "a.jpg"] {
            let file = folder.appending(path: name).path()
            try makeFile(file, "red")
            try await BackgroundFile.check(file)
            let picture = try BackgroundFile.picture(file, Studio.format)
            let shot = picture.withBytes { Shot(bytes: Array($0), width: picture.width, height: picture.height) }
            #expect(shot.has(Studio.red, at: 0.5, 0.5), "\(name): \(shot.colour(0.5, 0.5))")
        }
    }

    private func makeFile(_ path: String, _ colour: String) throws {
        let encoder = path.hasSuffix(".png") ? "pngenc" : "jpegenc"
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/gst-launch-1.0")
        process.arguments =
            ("-q videotestsrc num-buffers=1 pattern=\(colour) ! video/x-raw,width=400,height=300 ! "
            + "videoconvert ! \(encoder) ! filesink location=\(path)").split(separator: " ").map(String.init)
        try process.run()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
    }
}
