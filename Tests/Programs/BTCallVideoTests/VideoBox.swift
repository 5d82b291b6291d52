import BTCall
import BTCallAPI
import Cameras
import CommandTestSupport
import ControlLoop
import DBus
import Foundation
import Logging
import TestSupport

@testable import btcall_video

/// The program's parts on a private bus, with cameras that are texts.
@ControlPlane
final class VideoBox {
    let cameras = FakeCameras()
    let bus: PrivateBus
    let bridge: CallBridge
    private(set) var running: RunningVideo?
    private let directory = FileManager.default.temporaryDirectory.appending(path: "btcall-video-\(UUID().uuidString)")
    var settings = VideoSettings()
    /// What takes the place of devices.
    var parts = PictureService.Parts()

    static let door = Camera(id: "usb-1-video-index0", path: "/dev/video0", name: "Door")
    static let hall = Camera(id: "usb-2-video-index0", path: "/dev/video2", name: "Hall")

    init() async throws {
        bus = try PrivateBus()
        bridge = try await CallBridge(bus: .address(bus.address))
        settings.stateDirectory = directory.path()
    }

    isolated deinit {
        try? FileManager.default.removeItem(at: directory)  // It may stay in the temporary directory.
    }

    /// Starts the program, after an earlier one has ended.
    @discardableResult
    func start() async throws -> BridgeVideo {
        await running?.stop()
        running = nil
        running = try await RunningVideo(
            settings, system: cameras, bus: .address(bus.address), parts: parts, logger: Logger(label: "test"))
        return bridge.video
    }

    func stop() async {
        await running?.stop()
        await bridge.close()
    }
}
