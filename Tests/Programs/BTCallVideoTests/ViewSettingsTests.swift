import BTCallAPI
import Testing
import VideoPlan

@testable import btcall_video

/// Views as clients request them.
@Suite struct ViewSettingsTests {
    @Test func `a requested view is a setting, and is shown as it was requested`() throws {
        let views = [
            ViewRequest(.none), ViewRequest(.wayland, device: "wayland-1", rotation: 90),
            ViewRequest(
                .kms, device: "/dev/dri/card0", rectangle: RectangleDescription(x: -8, y: 8, width: 320, height: 240),
                rotation: 270), ViewRequest(.fbdev), ViewRequest(.device, device: "/dev/video-btcall"),
        ]
        for view in views { #expect(try ViewSettings(view).request == view) }
        #expect(ViewRequest.Sink.allCases.map { ViewSink($0).rawValue } == ViewRequest.Sink.allCases.map(\.rawValue))
        #expect(PictureSideWord.allCases.map { PictureSide($0).rawValue } == ["local", "remote"])
    }

    private static let refusals: [(ViewRequest, String)] = [
        (ViewRequest(.kms, rotation: 45), "rotation is 45; accepted: 0, 90, 180 or 270"),
        (ViewRequest(.none, device: "/dev/fb0"), "sink none has no device"),
        (ViewRequest(.device), "sink device needs a device: the path of a V4L2 output node"),
        (ViewRequest(.fbdev, device: "/dev/../etc/passwd"), "device is not accepted; accepted for fbdev: "),
        (
            ViewRequest(.kms, rectangle: RectangleDescription(x: 0, y: 0, width: 0, height: 8)),
            "rectangle is out of range; accepted: X,Y,WIDTHxHEIGHT in pixels"
        ),
        (
            ViewRequest(
                .device, device: "/dev/video9", rectangle: RectangleDescription(x: 0, y: 0, width: 8, height: 8)),
            "sink device has no rectangle: only kms, wayland and fbdev have one"
        ),
    ]

    @Test(arguments: refusals)
    func `what does not go together is refused with what is accepted`(view: ViewRequest, message: String) {
        let error = #expect(throws: APIError.self) { try ViewSettings(view) }
        #expect(error?.code == .invalidArgument && error?.message.hasPrefix(message) == true, "\(error?.message ?? "")")
    }
}
