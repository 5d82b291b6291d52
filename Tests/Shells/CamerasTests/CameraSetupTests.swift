import Cameras
import ControlLoop
import Glibc
import TestSupport
import Testing
import VideoCapture

/// A driver is asked within bounds, set, and closed again, whatever it answers.
@Suite @ControlPlane struct CameraSetupTests {
    private let cameras = FakeCameras()
    private let camera = Camera(id: "usb-1-video-index0", path: "/dev/video0", name: "Door")
    private let request = CaptureRequest(.automatic, framesPerSecond: 30)

    private func failure() -> CameraError? {
        do throws(CameraError) {
            _ = try CameraSetup(cameras).set(camera, to: request)
            return nil
        } catch {
            return error
        }
    }

    @Test func `a camera is set to the best that it offers, and closed`() throws {
        try cameras.add(camera, "YUYV 640x480@30 1280x720@10; MJPG 1280x720@30")
        let reached = try CameraSetup(cameras).set(camera, to: request)
        #expect(reached.size == FrameSize(1280, 720) && "\(reached.format)" == "MJPG")
        #expect(reached.rate == FrameRate(thousandths: 30_000))
        #expect(cameras.settings.count == 1 && cameras.openDrivers == 0)
    }

    @Test func `S2.4 what the driver answers is reported, not what was requested`() throws {
        try cameras.add(camera, "YUYV 1280x720@30")
        cameras.manner = { choice in
            .set(format: choice.format, width: 640, height: 480, interval: FrameInterval(1, 25))
        }
        let reached = try CameraSetup(cameras).set(camera, to: request)
        #expect(reached.size == FrameSize(640, 480) && reached.rate == FrameRate(thousandths: 25_000))
    }

    @Test(arguments: [
        (EACCES, CameraError.denied(path: "/dev/video0")), (EPERM, .denied(path: "/dev/video0")),
        (ENOENT, .missing("usb-1-video-index0")), (ENODEV, .missing("usb-1-video-index0")),
        (ENOTTY, .missing("usb-1-video-index0")), (EBUSY, .busy(by: [])),
    ])
    func `a camera that cannot be opened says why`(code: Int32, expected: CameraError) throws {
        try cameras.add(camera, "YUYV 640x480@30")
        cameras.openFailure = code
        #expect(failure() == expected)
    }

    @Test func `a camera in use names the programs`() throws {
        try cameras.add(camera, "YUYV 640x480@30")
        cameras.programs = ["baresip"]
        #expect(failure() == .busy(by: ["baresip"]))
        #expect(failure()?.description == "in use by baresip")
        #expect(throws: CameraError.busy(by: ["baresip"])) { try CameraSetup(cameras).check(camera) }
        cameras.programs = []
        try CameraSetup(cameras).check(camera)
        #expect(cameras.openDrivers == 0)
    }

    @Test func `a camera pulled while it is set, or without a usable format, is a failure, and closed`() throws {
        try cameras.add(camera, "YUYV 640x480@30")
        cameras.setFailure = ENODEV
        #expect(failure() == .missing("usb-1-video-index0"))
        cameras.setFailure = EIO
        #expect(failure()?.description.hasPrefix("/dev/video0: VIDIOC_S_FMT: Input/output error (EIO)") == true)
        cameras.setFailure = 0
        cameras.remove(camera.id)
        try cameras.add(camera, "H264 640x480@30")
        #expect(failure() == .refused(.noFormat(offered: [try #require(PixelFormat("H264"))])))
        #expect(cameras.openDrivers == 0)
    }

    @Test func `a driver that never ends its lists is asked a bounded number of times`() throws {
        let driver = EndlessDriver()
        let endless = EndlessCameras(driver)
        let reached = try CameraSetup(endless).set(camera, to: request)
        #expect(reached.size == FrameSize(640, 480))
        // 64 formats, 256 sizes of the only usable one, and 256 intervals of its only size.
        #expect(driver.asked == 64 + 256 + 256)
    }
}

@ControlPlane
private final class EndlessDriver: CameraDriver {
    private(set) var asked = 0

    func format(_ index: Int) -> PixelFormat? {
        asked += 1
        return PixelFormat("NV12")
    }

    func size(_ format: PixelFormat, _ index: Int) -> SizeAnswer? {
        asked += 1
        return .discrete(width: 640, height: 480)
    }

    func interval(_ question: CaptureQuestion, _ index: Int) -> IntervalAnswer? {
        asked += 1
        return .discrete(FrameInterval(1, 30))
    }

    func set(_ choice: CaptureChoice) throws(SystemError) -> CaptureNegotiation.Answer { FakeCameras.honest(choice) }
    var isBusy: Bool { false }
    func close() {}
}

@ControlPlane
private final class EndlessCameras: CameraSystem {
    var onChange: (@ControlPlane () -> Void)?
    private let driver: EndlessDriver

    init(_ driver: EndlessDriver) { self.driver = driver }

    func cameras() -> [Camera] { [] }
    func open(_ camera: Camera) throws(SystemError) -> any CameraDriver { driver }
    func users(of camera: Camera) -> [String] { [] }
    func watch() throws(SystemError) {}
    func stop() {}
}
