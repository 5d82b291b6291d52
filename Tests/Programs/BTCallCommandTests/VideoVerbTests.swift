import BTCall
import BTCallAPI
import Cameras
import CommandTestSupport
import ControlLoop
import DBus
import Foundation
import Glibc
import Logging
import TestSupport
import Testing
import VideoCapture

@testable import BTCallCommand
@testable import btcall_video

/// `btcall video`, with btcall-video on the bus and cameras that are texts.
@Suite(.timeLimit(.minutes(1))) @ControlPlane struct VideoVerbTests {
    private let bus: PrivateBus
    private let cameras = FakeCameras()
    private let state = FileManager.default.temporaryDirectory.appending(path: "btcall-verb-\(UUID().uuidString)")

    init() throws { bus = try PrivateBus() }

    private func withVideo(_ body: () async throws -> Void) async throws {
        var settings = VideoSettings()
        settings.stateDirectory = state.path()
        settings.names.back = "usb-2-video-index0"
        let running = try await RunningVideo(
            settings, system: cameras, bus: .address(bus.address),
            logger: Logger(label: "test"))
        defer { try? FileManager.default.removeItem(at: state) }  // It may stay in the temporary directory.
        do {
            try await body()
        } catch {
            await running.stop()
            throw error
        }
        await running.stop()
    }

    private func plug() throws {
        try cameras.add(
            Camera(id: "usb-1-video-index0", path: "/dev/video0", name: "Door"),
            "YUYV 640x480@1001/30000; MJPG 1280x720@30")
        try cameras.add(
            Camera(id: "usb-2-video-index0", path: "/dev/video2", name: "Hall\u{1B}[2J", isPermitted: false),
            "NV12 800x600@25")
    }

    private func run(_ words: String...) async throws -> CommandRun {
        try await CommandRun.btcall(["video"] + words, bus: bus)
    }

    @Test func `cameras are listed with what the chosen one was set to`() async throws {
        try await withVideo {
            #expect(
                try await run("cameras").output == """
                    no camera is connected
                    there is no camera front at present: none is connected

                    """)
            try plug()
            #expect(
                try await run().output == #"""
                    CAMERA  ID                  NAME           NODE
                    front   usb-1-video-index0  Door           /dev/video0
                    back    usb-2-video-index0  Hall\u{1B}[2J  /dev/video2 (not permitted)
                    front: 1280x720 MJPG, 30 frames per second (requested: auto, 30)

                    """#)
        }
    }

    @Test func `set chooses the camera, the size and the rate, and shows what was reached`() async throws {
        try plug()
        try await withVideo {
            let size = try await run("set", "--resolution", "640x480")
            #expect(size.output.hasSuffix("front: 640x480 YUYV, 29.97 frames per second (requested: 640x480, 30)\n"))
            let rate = try await run("set", "--rate", "25")
            #expect(rate.output.hasSuffix("(requested: 640x480, 25)\n"))
            let back = try await run("set", "back")
            let reason = "camera back: /dev/video2 may not be opened: add the program's user to group video\n"
            #expect(back.status == 0 && back.output.hasSuffix(reason), "\(back.output)")
            let reset = try await run("set", "--reset")
            #expect(reset.output.hasSuffix("front: 1280x720 MJPG, 30 frames per second (requested: auto, 30)\n"))
        }
    }

    @Test func `an unknown camera, size or rate is refused with what is accepted`() async throws {
        try plug()
        try await withVideo {
            let camera = try await run("set", "side")
            #expect(camera.status == 1)
            #expect(
                camera.errors
                    == "btcall: there is no camera \"side\"; accepted: front, back, usb-1-video-index0, "
                    + "usb-2-video-index0\n")
            #expect(try await run("set", "--resolution", "4k").errors.contains("accepted: auto, or WIDTHxHEIGHT"))
            #expect(try await run("set", "--rate", "0").errors.contains("framesPerSecond is 0; accepted: 1 to 1000"))
        }
        for words in [["video", "set"], ["video", "set", "front", "--reset"]] {
            #expect(throws: (any Error).self) { try Entry.command(for: words) }
        }
    }

    @Test func `access says who denies what, also by its exit status`() async throws {
        try plug()
        let daemon = try await FakeDaemon(bus.address)
        daemon.update { state in
            state.devices = [
                DeviceDescription(
                    device: .earpiece, name: "Handset", isAvailable: true, output: "earpiece", input: "builtinMic")
            ]
        }
        try await withVideo {
            let allowed = try await run("access")
            #expect(allowed.status == 0 && allowed.output == "microphone  allowed\ncamera      allowed\n")
            cameras.programs = ["baresip"]
            let busy = try await run("access")
            #expect(busy.status == 1)
            #expect(busy.output.hasSuffix("camera      denied: camera front: in use by baresip\n"))
        }
        daemon.close()
    }

    @Test func `without btcall-video it says how to start it`() async throws {
        let run = try await run("cameras")
        #expect(run.status == 3 && run.errors.hasPrefix("btcall: btcall-video is not running on the bus at "))
    }

    @Test func `each verb prints the object on the page`() async throws {
        let page = try JSONPage()
        func check(_ words: [String], status: Int32) async throws {
            let run = try await CommandRun.btcall(["video"] + words + ["--json"], bus: bus)
            #expect(run.status == status && run.errors.isEmpty, "\(words): \(run.errors)")
            let verb = "video \(words[0])"
            let type = try #require(page.verbs[verb], "\(verb)")
            let mistakes = page.mistakes(in: run.json ?? "no JSON", type, at: verb)
            #expect(mistakes.isEmpty, "\(mistakes)\n\(run.output)")
        }
        try await withVideo {
            try await check(["cameras"], status: 0)
            try await check(["access"], status: 1)
            try plug()
            try await check(["cameras"], status: 0)
            try await check(["set", "front"], status: 0)
            cameras.manner = { choice in
                .set(
                    format: choice.format, width: UInt32(choice.size.width), height: UInt32(choice.size.height),
                    interval: nil)
            }
            try await check(["set", "--rate", "30"], status: 0)
        }
    }
}
