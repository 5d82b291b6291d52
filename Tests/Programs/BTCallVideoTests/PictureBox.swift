import BTCall
import BTCallAPI
import BluetoothTypes
import Cameras
import CommandTestSupport
import ControlLoop
import DBus
import Foundation
import Glibc
import Pictures
import TestSupport
import Testing
import VideoCapture
import VideoPlan

@testable import btcall_video

/// A box with two cameras whose pictures are colours, an output device, a daemon, and a client of the pictures.
@ControlPlane
final class PictureBox {
    let video: VideoBox
    let daemon: FakeDaemon
    let client: BusConnection

    /// I420 of `videotestsrc`'s colours.
    static let red: [UInt8] = [81, 90, 240]
    static let blue: [UInt8] = [41, 240, 110]

    init() async throws {
        video = try await VideoBox()
        daemon = try await FakeDaemon(video.bus.address)
        client = try BusConnection(.address(video.bus.address))
        video.settings.outputDevice = "/dev/video-btcall"
        video.settings.boxName = "Front door"
        let door = VideoBox.door.id
        video.parts.camera = { camera, _, format in
            let pattern = camera.id == door ? "red" : "blue"
            return PipelinePlan(
                "videotestsrc is-live=true pattern=\(pattern) ! \(format.caps) ! \(PipelinePlan.captured(format))")
        }
        // Whatever is written goes nowhere.
        video.parts.openOutput = { _, _ throws(SystemError) in
            let descriptor = try SystemError.check("open") { open("/dev/null", O_WRONLY | O_CLOEXEC) }
            return OutputDevice.Node(descriptor: descriptor, width: 320, height: 240)
        }
        // A busy machine is no frozen camera.
        video.parts.stall = .seconds(20)
        video.parts.displayEnd = "fakesink name=sink sync=false"
    }

    /// Also after a test that has thrown.
    isolated deinit {
        client.close()
        daemon.close()
    }

    func plugBoth() throws {
        try video.cameras.add(VideoBox.door, "YUYV 320x240@30")
        try video.cameras.add(VideoBox.hall, "NV12 320x240@25")
    }

    var pictures: PictureService? { video.running?.pictures }

    /// Adds a call with video, which is active.
    func call(_ number: Int = 1, state: CallDescription.State = .active, hasVideo: Bool = true) -> String {
        var call = CallDescription(
            id: "00000000-0000-4000-8000-00000000000\(number)", state: state, direction: .incoming, provider: "phone",
            index: UInt8(number))
        call.hasVideo = hasVideo
        call.video = hasVideo ? .sendReceive : .off
        return daemon.addCall(call)
    }

    // MARK: The client

    @discardableResult
    func ask(_ member: String, _ arguments: [Value]) async throws(BusError) -> [Value] {
        try await client.call(
            BTCallName.videoBus, BTCallPath.video, BTCallName.Interface.video, member, arguments)
    }

    func property(_ name: String) async throws -> Value {
        let reply = try await client.call(
            BTCallName.videoBus, BTCallPath.video, "org.freedesktop.DBus.Properties", "Get",
            [.string(BTCallName.Interface.video), .string(name)])
        guard case .variant(let value)? = reply.first else { throw WaitedInVain(description: "no value of \(name)") }
        return value
    }

    func picture() async throws -> PictureDescription {
        try PictureDescription(try Fields(try await property(BTCallName.Video.picture), of: "Picture"))
    }

    func view(_ side: PictureSide) async throws -> ViewDescription {
        let views = try Fields(try await property(BTCallName.Video.views), of: "Views")
        return try ViewDescription(try Fields(views.values[side.rawValue] ?? "", of: side.rawValue))
    }

    /// Waits for what is seen of a call.
    func eventually(_ what: String, _ isSo: (PictureDescription) -> Bool) async throws {
        try await TestSupport.eventually(what) { isSo(try await picture()) }
    }

    func stop() async {
        await video.running?.stop()
        client.close()
        daemon.close()
        await video.bridge.close()
    }
}

/// A pipe that a client gives to a view.
struct ViewPipe {
    let reader: Int32
    let writer: PassedDescriptor

    init() throws {
        var ends: [Int32] = [-1, -1]
        _ = try SystemError.check("pipe") { Glibc.pipe(&ends) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
        reader = ends[0]
        writer = PassedDescriptor(taking: ends[1])
    }

    /// Everything that can be read now; nil at the end.
    func read() -> [UInt8]? {
        var all: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = Glibc.read(reader, &part, part.count)
            if count == 0 { return all.isEmpty ? nil : all }
            guard count > 0 else { return all }
            all += part[..<count]
        }
    }

    func close() { Glibc.close(reader) }
}
