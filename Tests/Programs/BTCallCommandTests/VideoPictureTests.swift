import ArgumentParser
import BTCall
import BTCallAPI
import CommandTestSupport
import ControlLoop
import DBus
import Foundation
import Glibc
import TestSupport
import Testing

@testable import BTCallCommand

/// The pictures of a call: `btcall video picture`, `view` and `background`, and the library that they use.
@Suite(.timeLimit(.minutes(1))) @ControlPlane struct VideoPictureTests {
    private static let call = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"

    private func withVideo(_ body: (FakeVideo, PrivateBus) async throws -> Void) async throws {
        let bus = try PrivateBus()
        let video = try await FakeVideo(bus.address)
        defer { video.close() }
        try await body(video, bus)
    }

    private func run(_ bus: PrivateBus, _ words: String...) async throws -> CommandRun {
        try await CommandRun.btcall(["video"] + words, bus: bus)
    }

    private static let card = PictureDescription(
        local: .card, cause: .held, call: BTCallPath.call(call), width: 1280, height: 720, framesPerSecond: 29.97)

    @Test func `picture says what the far end sees, and why`() async throws {
        try await withVideo { video, bus in
            let idle = try await run(bus, "picture")
            #expect(
                idle.output == """
                    far end sees       nothing: no call with video
                    far end's picture  none
                    background         off
                    local view         none
                    remote view        none
                    taps               0

                    """)
            video.picture = Self.card
            video.picture.isRemote = true
            video.background = "blur"
            video.views[.local] = ViewDescription(
                ViewRequest(
                    .kms, device: "/dev/dri/card0",
                    rectangle: RectangleDescription(x: 0, y: 8, width: 320, height: 240), rotation: 90),
                isRunning: true)
            video.views[.remote] = ViewDescription(ViewRequest(.wayland), problem: "no display\u{1B}[2J")
            video.output = OutputDescription(path: "/dev/video-btcall", isRunning: true)
            video.taps = 2
            #expect(
                try await run(bus, "picture").output == #"""
                    far end sees       the card, 1280x720, 29.97 frames per second: the call is held
                    call               6ba7b810-9dad-11d1-80b4-00c04fd430c8
                    far end's picture  arrives
                    background         blur, not applied now
                    local view         kms /dev/dri/card0 at 0,8,320x240, turned by 90: running
                    remote view        wayland: no display\u{1B}[2J
                    output             /dev/video-btcall: running
                    taps               2

                    """#)
        }
    }

    @Test(arguments: PictureDescription.Cause.allCases)
    func `each cause of the card has words`(cause: PictureDescription.Cause) async throws {
        try await withVideo { video, bus in
            video.picture = PictureDescription(local: .card, cause: cause)
            let bridge = try await CallBridge(bus: .address(bus.address))
            let picture = try await bridge.video.picture()
            guard case .card(let why) = picture.local else {
                Issue.record("\(picture)")
                return
            }
            #expect(why.rawValue == cause.rawValue)
            let line = try await run(bus, "picture").output.split(separator: "\n").first
            #expect(line?.hasPrefix("far end sees       the card: ") == true, "\(line ?? "")")
            await bridge.close()
        }
    }

    @Test func `S2.2 view shows a picture on a sink, and none is the default`() async throws {
        try await withVideo { video, bus in
            #expect(try await run(bus, "view").output == "local view   none\nremote view  none\n")
            let remote = try await run(bus, "view", "remote", "kms")
            #expect(remote.status == 0 && remote.output == "remote view  kms: running\n", "\(remote.errors)")
            let local = try await run(
                bus, "view", "local", "kms", "--device", "/dev/dri/card1", "--rectangle=-8,0,320x240", "--rotation",
                "180")
            #expect(
                local.output == "local view  kms /dev/dri/card1 at -8,0,320x240, turned by 180: running\n",
                "\(local.errors)")
            #expect(
                video.requests.last?.view
                    == ViewRequest(
                        .kms, device: "/dev/dri/card1",
                        rectangle: RectangleDescription(x: -8, y: 0, width: 320, height: 240), rotation: 180))
            #expect(try await run(bus, "view", "local").output.hasPrefix("local view  kms"))
            #expect(try await run(bus, "view", "local", "--reset").output == "local view  none\n")
            #expect(video.requests.count == 3 && video.requests.last?.view == nil)
        }
    }

    @Test(arguments: [
        (["local", "screen"], "screen"), (["both"], "both"),
        (["local", "kms", "--rectangle", "8x8"], "X,Y,WIDTHxHEIGHT"),
        (["local", "kms", "--rectangle", "0,0,8"], "X,Y,WIDTHxHEIGHT"), (["local", "--rotation", "90"], "need a SINK"),
        (["--reset"], "needs a SIDE"), (["local", "kms", "--reset"], "no SINK"),
        (["local", "descriptor"], "descriptor"),
    ])
    func `a view that is none is refused by the command line`(words: [String], message: String) {
        do {
            _ = try Entry.command(for: ["video", "view"] + words)
            Issue.record("\(words) is accepted")
        } catch {
            #expect(Entry.fullMessage(for: error).contains(message), "\(Entry.fullMessage(for: error))")
        }
    }

    @Test func `a refusal of btcall-video is shown`() async throws {
        try await withVideo { video, bus in
            video.refusal = APIError(.notSupported, "kmssink is missing: install gstreamer1.0-plugins-bad")
            let view = try await run(bus, "view", "local", "kms")
            #expect(view.status == 1 && view.errors.hasSuffix("install gstreamer1.0-plugins-bad\n"), "\(view.errors)")
            let background = try await run(bus, "background", "blur", "--json")
            #expect(background.status == 1 && background.output == "" && background.errors.contains("NotSupported"))
        }
    }

    @Test func `background is replaced, and a file is named as btcall-video finds it`() async throws {
        try await withVideo { video, bus in
            let usual = try await run(bus, "background")
            #expect(usual.output == "off\n")
            #expect(try await run(bus, "background", "blur").output == "blur\n")
            #expect(try await run(bus, "background", "/srv/wall.png").output == "/srv/wall.png\n")
            let here = FileManager.default.currentDirectoryPath
            #expect(try await run(bus, "background", "wall.png").output == "\(here)/wall.png\n")
            #expect(video.background == "\(here)/wall.png")
            #expect(try await run(bus, "background", "off").output == "off\n")
        }
    }

    @Test func `each verb prints the object on the page`() async throws {
        let page = try JSONPage()
        try await withVideo { video, bus in
            func check(_ words: [String]) async throws {
                let run = try await CommandRun.btcall(["video"] + words + ["--json"], bus: bus)
                #expect(run.status == 0 && run.errors.isEmpty, "\(words): \(run.errors)")
                #expect(!run.output.contains("\"none\""), "\(run.output)")
                let verb = "video \(words[0])"
                let type = try #require(page.verbs[verb], "\(verb)")
                let mistakes = page.mistakes(in: run.json ?? "no JSON", type, at: verb)
                #expect(mistakes.isEmpty, "\(mistakes)\n\(run.output)")
            }
            try await check(["picture"])
            try await check(["view"])
            video.picture = Self.card
            video.output = OutputDescription(path: "/dev/video9", problem: "there is no such device")
            try await check(["view", "remote", "kms", "--rectangle", "0,0,8x8"])
            try await check(["view", "local", "device", "--device", "/dev/video8"])
            try await check(["background", "blur"])
            try await check(["picture"])
        }
    }

    // MARK: The library

    @Test func `S2.2 preview and remote view are set, read and returned to the configuration`() async throws {
        try await withVideo { video, bus in
            let bridge = try await CallBridge(bus: .address(bus.address))
            #expect(try await bridge.video.previewView().view == BridgeVideo.View(.none))
            #expect(try await bridge.video.remoteView().isRunning == false)
            let view = BridgeVideo.View(
                .fbdev, device: "/dev/fb0", rectangle: .init(x: 1, y: 2, width: 3, height: 4), rotation: 270)
            try await bridge.video.setPreviewView(view)
            try await bridge.video.setRemoteView(.init(.wayland))
            let views = try await bridge.video.views()
            #expect(views.preview.view == view && views.preview.isRunning && views.preview.problem == nil)
            #expect(views.remote.view.sink == .wayland && views.remote.isRunning)
            try await bridge.video.setPreviewView(nil)
            #expect(try await bridge.video.previewView().view.sink == .none)
            // What is wrong is refused, not changed into something else.
            try await bridge.video.setRemoteView(.init(.kms, rotation: -90))
            #expect(video.requests.last?.view?.rotation == -90)
            await bridge.close()
        }
    }

    @Test func `S2.3 the background is replaced, and the status has what is seen and where it goes`() async throws {
        try await withVideo { video, bus in
            let bridge = try await CallBridge(bus: .address(bus.address))
            let idle = try await bridge.video.pictureStatus()
            #expect(idle.background == "off" && idle.output == nil && idle.taps == 0 && idle.picture.local == .none)
            try await bridge.video.setBackground("/srv/wall.png")
            video.output = OutputDescription(path: "/dev/video9", problem: "there is no such device")
            video.taps = 3
            let status = try await bridge.video.pictureStatus()
            #expect(status.background == "/srv/wall.png" && status.taps == 3)
            #expect(status.output?.path == "/dev/video9" && status.output?.isRunning == false)
            #expect(status.output?.problem == "there is no such device" && status.views.remote.view.sink == .none)
            await bridge.close()
        }
    }

    @Test func `S2.2 a view writes to a descriptor, which its program may close`() async throws {
        try await withVideo { video, bus in
            let bridge = try await CallBridge(bus: .address(bus.address))
            var ends: [Int32] = [-1, -1]
            #expect(pipe(&ends) == 0)
            defer { close(ends[0]) }
            try await bridge.video.setPreviewView(.init(.descriptor, descriptor: ends[1]))
            close(ends[1])
            let passed = try #require(video.requests.last?.view?.descriptor)
            #expect(write(passed.descriptor, "Y", 1) == 1)
            var byte: UInt8 = 0
            #expect(read(ends[0], &byte, 1) == 1 && byte == UInt8(ascii: "Y"))
            #expect(try await bridge.video.previewView().view == BridgeVideo.View(.descriptor))
            do throws(BridgeError) {
                try await bridge.video.setPreviewView(.init(.descriptor, descriptor: -1))
                Issue.record("it was accepted")
            } catch {
                #expect(error.code == .invalidArgument && error.message.hasPrefix("descriptor -1 cannot be passed: "))
            }
            await bridge.close()
        }
    }

    @Test func `pictures begins with the present one, and follows each change and the end of btcall-video`()
        async throws
    {
        let bus = try PrivateBus()
        let bridge = try await CallBridge(bus: .address(bus.address))
        var pictures = await bridge.video.pictures().makeAsyncIterator()
        let absent = await pictures.next()
        #expect(absent == .some(nil))
        let video = try await FakeVideo(bus.address)
        let none = await pictures.next()
        #expect(none??.local == BridgeVideo.Picture.Local.none && none??.call == nil)
        video.picture = Self.card
        let card = await pictures.next()
        #expect(card??.local == .card(.held) && card??.call?.description == Self.call && card??.width == 1280)
        video.picture = PictureDescription(local: .camera, width: 640, height: 480, framesPerSecond: 30)
        let camera = await pictures.next()
        #expect(camera??.local == .camera && camera??.framesPerSecond == 30)
        video.close()
        let gone = await pictures.next()
        #expect(gone == .some(nil))
        await bridge.close()
    }

    @Test func `without btcall-video each verb says how to start it`() async throws {
        let bus = try PrivateBus()
        for verb in ["picture", "view", "background"] {
            let run = try await run(bus, verb)
            #expect(run.status == 3 && run.errors.hasPrefix("btcall: btcall-video is not running on the bus at "))
        }
    }
}
