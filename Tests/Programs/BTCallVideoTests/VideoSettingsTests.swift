import Cameras
import CommandTestSupport
import Foundation
import ProgramSettings
import TestSupport
import Testing
import VideoCapture
import VideoPlan

@testable import btcall_video

/// The configuration, the command line and the kept choice.
@Suite struct VideoSettingsTests {
    private typealias Arguments = ProgramArguments<VideoSettings>

    private func read(_ text: String) throws -> VideoSettings {
        try VideoSettings(reading: Array(text.utf8), file: "video.conf")
    }

    private func refusal(_ text: String) -> String {
        do {
            _ = try read(text)
            return ""
        } catch {
            return "\(error)"
        }
    }

    @Test func `every key is read`() throws {
        let settings = try read(
            """
            # a comment
            [video]
            resolution = 800x600
            framesPerSecond = 25
            name = Haustür 2
            stateDirectory = /srv/video
            logLevel = debug
            [camera front]
            device = usb-1-video-index0
            [camera back]
            device = /dev/video2
            [view local]
            sink = kms
            device = /dev/dri/card1
            rectangle = -10,20,320x240
            rotation = 90
            [view remote]
            sink = wayland
            device = wayland-1
            rectangle = 0,0,800x480
            rotation = 180
            [remote]
            source = /dev/video9
            [output]
            device = /dev/video-btcall
            [background]
            picture = /srv/video/a wall.png
            [privacy]
            camera = deny
            """)
        #expect(settings.request == CaptureRequest(try #require(.init("800x600")), framesPerSecond: 25))
        #expect(settings.stateDirectory == "/srv/video")
        #expect(settings.names.front == "usb-1-video-index0" && settings.names.back == "/dev/video2")
        #expect(!settings.isAllowed && settings.logLevel == .debug)
        #expect(settings.boxName == "Haustür 2")
        #expect(
            settings.views[.local]
                == ViewSettings(
                    .kms, device: "/dev/dri/card1", rectangle: PictureRectangle(x: -10, y: 20, width: 320, height: 240),
                    rotation: 90))
        #expect(
            settings.views[.remote]
                == ViewSettings(
                    .wayland, device: "wayland-1", rectangle: PictureRectangle("0,0,800x480"), rotation: 180))
        #expect(settings.remoteSource == "/dev/video9" && settings.outputDevice == "/dev/video-btcall")
        #expect(settings.background == .picture("/srv/video/a wall.png"))
        #expect(try read("") == VideoSettings())
    }

    @Test(arguments: [
        (
            "[video]\nresolution = big",
            "video.conf:2: video.resolution: 'big' is not accepted; it is auto, or WIDTHxHEIGHT"
        ),
        ("[video]\nframesPerSecond = 0", "video.conf:2: video.framesPerSecond: '0' is not accepted; it is 1 to 1000"),
        ("[video]\nstateDirectory = srv", "video.conf:2: video.stateDirectory"),
        ("[camera front]\ndevice = a b", "video.conf:2: camera front.device"),
        ("[video]\nname =", "video.conf:2: video.name: '' is not accepted; it is a text of 1 to 64 bytes"),
        ("[video]\nname = a\u{1B}[2J", "video.conf:2: video.name"),
        (
            "[view local]\nsink = screen",
            "video.conf:2: view local.sink: 'screen' is not accepted; it is none, kms, wayland, fbdev or device"
        ),
        ("[view remote]\nsink = descriptor", "video.conf:2: view remote.sink: 'descriptor' is not accepted"),
        ("[view local]\nrectangle = 8x8", "video.conf:2: view local.rectangle: '8x8' is not accepted; it is X,Y,WIDTH"),
        ("[view local]\nrotation = 45", "video.conf:2: view local.rotation: '45' is not accepted; it is 0, 90, 180"),
        ("[view local]\nsink = device", "video.conf: [view local]: sink device needs a device: the path of a V4L2"),
        ("[view remote]\ndevice = /dev/fb0", "video.conf: [view remote]: sink none has no device"),
        ("[view remote]\nrotation = 90", "video.conf: [view remote]: sink none has no rotation"),
        ("[view remote]\nsink = device\nrectangle = 0,0,8x8", "video.conf: [view remote]: sink device has no"),
        ("[output]\ndevice = video9", "video.conf:2: output.device: 'video9' is not accepted; it is the path"),
        ("[remote]\nsource = /dev/../etc/x", "video.conf:2: remote.source"),
        (
            "[remote]\nsource = /dev/video9\n[output]\ndevice = /dev/video9",
            "video.conf: [remote] source and [output] device are both /dev/video9: give each a node of its own"
        ),
        (
            "[output]\ndevice = /dev/video9\n[view local]\nsink = device\ndevice = /dev/video9",
            "video.conf: [output] device and the local view are both /dev/video9: give each a node of its own"
        ),
        (
            "[view local]\nsink = device\ndevice = /dev/video9\n[view remote]\nsink = device\ndevice = /dev/video9",
            "video.conf: the local view and the remote view are both /dev/video9: give each a node of its own"
        ),
        (
            "[remote]\nsource = /dev/video9\n[view remote]\nsink = device\ndevice = /dev/video9",
            "video.conf: [remote] source and the remote view are both /dev/video9: give each a node of its own"
        ),
        ("[background]\npicture = wall.png", "video.conf:2: background.picture: 'wall.png' is not accepted; it is off"),
        ("[camera back]\ndevice =", "video.conf:2: camera back.device"),
        ("[privacy]\ncamera = ask", "video.conf:2: privacy.camera: 'ask' is not accepted; it is allow or deny"),
        ("[camera]", "video.conf:1: [camera] is no section; accepted: video, camera front"),
        ("device = a", "video.conf:1: [] device: there is no such key; accepted: [video] resolution"),
        ("[video]\nresolution", "video.conf:2: 'resolution' is no entry"),
        (
            "[video]\nlogLevel = info\n[log]\nlevel = info",
            "video.conf:4: level is given a second time; keep one of this and line 2"
        ),
        ("[log]\nlogLevel = info", "video.conf:2: [log] logLevel: there is no such key; accepted: [video] resolution"),
    ])
    func `a wrong line is named, with what is accepted`(text: String, message: String) {
        #expect(refusal(text).hasPrefix(message), "\(refusal(text))")
    }

    @Test func `the log's level has its earlier name as well`() throws {
        #expect(try read("[log]\nlevel = debug").logLevel == .debug)
        #expect(refusal("[logs]").hasSuffix("accepted: " + VideoSettings.sections.joined(separator: ", ")))
    }

    @Test(arguments: ["docs/applications/Video.md", "docs/configure/Cameras.md"])
    func `the samples on the pages are understood`(page: String) throws {
        let file = URL(filePath: #filePath).appending(path: "../../../../\(page)").standardized
        let text = try String(contentsOf: file, encoding: .utf8)
        let samples = text.components(separatedBy: "```conf\n# /etc/btcall/video.conf\n").dropFirst().map {
            $0.components(separatedBy: "```")[0]
        }
        #expect(!samples.isEmpty)
        for sample in samples { #expect(try read(sample) != VideoSettings(), "\(sample)") }
    }

    @Test func `the configuration of Examples/door-station is accepted`() throws {
        let file = URL(filePath: #filePath).appending(path: "../../../../Examples/door-station/video.conf").standardized
        #expect(try read(String(contentsOf: file, encoding: .utf8)) != VideoSettings())
    }

    @Test func `the shipped configuration has every key with its default`() throws {
        let file = URL(filePath: #filePath).appending(path: "../../../../etc/video.conf").standardized
        let text = try String(contentsOf: file, encoding: .utf8)
        #expect(try read(text) == VideoSettings())
        let lines = text.split(separator: "\n").filter { line in
            line.hasPrefix("[") || line.hasPrefix("#") && !line.hasPrefix("# ") && line.contains(" = ")
        }
        let keys = lines.filter { $0.hasPrefix("#") }
        #expect(keys.count == VideoSettings.Key.allCases.count)
        // These have no default.
        let examples = ["#device", "#name", "#rectangle", "#source"]
        let standard = lines.filter { line in !examples.contains { line.hasPrefix($0) } }.map { $0.drop { $0 == "#" } }
        #expect(try read(standard.joined(separator: "\n")) == VideoSettings())
    }

    @Test func `arguments override the file`() throws {
        let arguments = try Arguments(["--state", "/srv", "--log-level", "error", "--bus", "session"])
        var settings = VideoSettings()
        try arguments.apply(to: &settings)
        #expect(settings.stateDirectory == "/srv" && settings.logLevel == .error && arguments.bus == "session")
        #expect(throws: SettingsError("unknown argument --camera")) { try Arguments(["--camera"]) }
        #expect(throws: SettingsError("--config needs a value")) { try Arguments(["--config"]) }
    }

    // MARK: Names of cameras

    private static let cameras = [
        Camera(id: "csi-video-index0", path: "/dev/video0", name: "CSI", isPermitted: false),
        Camera(id: "usb-1-video-index0", path: "/dev/video2", name: "Door"),
        Camera(id: "usb-2-video-index0", path: "/dev/video4", name: "Hall"),
    ]

    @Test(arguments: [
        (nil, nil, "front", "/dev/video2"), (nil, nil, "back", nil), (nil, "/dev/video2", "front", "/dev/video4"),
        (nil, "usb-1-video-index0", "back", "/dev/video2"), ("usb-2-video-index0", nil, "front", "/dev/video4"),
        ("/dev/v4l/by-path/usb-2-video-index0", nil, "front", "/dev/video4"), ("gone", nil, "front", nil),
        (nil, nil, "csi-video-index0", "/dev/video0"), (nil, nil, "/dev/video4", "/dev/video4"),
        (nil, nil, "Door", nil),
    ])
    func `S2.27 front, back and a name mean one camera`(front: String?, back: String?, word: String, path: String?) {
        let names = CameraNames(front: front, back: back)
        #expect(names.camera(word, among: Self.cameras)?.path == path)
    }

    @Test func `front is the camera that may not be opened if there is no other`() {
        let only = Array(Self.cameras.prefix(1))
        #expect(CameraNames().camera("front", among: only) == only.first)
        #expect(CameraNames().camera("front", among: []) == nil)
    }

    // MARK: The choice

    @Test func `a choice is read as it was written, and what is not understood is left out`() {
        let choice = VideoChoice(camera: "back", request: CaptureRequest(.automatic, framesPerSecond: 15))
        #expect(VideoChoice(reading: Array(choice.text.utf8)) == choice)
        #expect(choice.text == "camera back\ncapture auto 15\n")
        for background in [BackgroundChoice.off, .blur, .picture("/srv/a wall  .png")] {
            let choice = VideoChoice(background: background)
            #expect(VideoChoice(reading: Array(choice.text.utf8)) == choice)
        }
        #expect(VideoChoice(reading: Array("background\nbackground wall.png\nbackgroundblur\n".utf8)) == VideoChoice())
        let odd =
            "camera\ncamera a b\ncapture auto\ncapture auto 0\ncapture 0x0 30\nzoom 2\n\u{0}\ncapture 640x480 1000\n"
        #expect(
            VideoChoice(reading: Array(odd.utf8))
                == VideoChoice(request: FrameSize("640x480").map { CaptureRequest(.size($0), framesPerSecond: 1000) }))
        #expect(VideoChoice(reading: [0xFF, 0xFE, 0x0A]) == VideoChoice())
    }
}
