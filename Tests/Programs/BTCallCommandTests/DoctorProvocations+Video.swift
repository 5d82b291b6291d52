import BTCallAPI
import DBus

@testable import BTCallCommand

/// Faults of btcall-video.
extension DoctorProvocation {
    static let video: [DoctorProvocation] = [
        .init("video-camera", .warning, "finds no camera") {
            try $0.startVideo { video in
                video["Cameras"] = .array("a{sv}", [])
                video["Problem"] = "there is no camera front at present: none is connected"
            }
        },
        .init("video-camera", .warning, "cannot use the chosen camera") {
            try $0.startVideo { $0["Problem"] = "camera front: in use by baresip" }
        },
        .init("video-output", .warning, "there is no /dev/video-btcall, which [output] device names") {
            try $0.startVideo()
            try $0.remove("/dev/video-btcall")
        },
        .init("video-output", .warning, "there is no /dev/video-btcall") {
            try $0.startVideo()
            try $0.remove("/dev/video-btcall")
            try $0.write("/sys/module/v4l2loopback/version", "0.12.7\n")
        },
        .init("video-output", .warning, "/dev/video-btcall gets no picture") {
            try $0.startVideo { video in
                let output = OutputDescription(path: "/dev/video-btcall", problem: "it may not be opened")
                video["OutputDevice"] = .vardict(output.fields)
            }
        },
        .init("video-view", .warning, "the local view (wayland) shows nothing") {
            try $0.startVideo { video in
                let view = ViewDescription(ViewRequest(.wayland), problem: "there is no display wayland-0")
                video["Views"] = .vardict(["local": .vardict(view.fields)])
            }
        },
        .init("video-plugins", .warning, "plugin kms is missing: the remote view shows nothing") {
            try $0.startVideo()
            try $0.remove("/usr/lib/x86_64-linux-gnu/gstreamer-1.0/libgstkms.so")
        },
        .init("video-plugins", .warning, "plugin opencv is missing: the background is not replaced") {
            try $0.startVideo { $0["Background"] = "blur" }
            try $0.remove("/usr/lib/x86_64-linux-gnu/gstreamer-1.0/libgstopencv.so")
        },
        .init("video-scope", .note, "neither codes nor sends pictures, and finds no faces") { try $0.startVideo() },
        .init("video-scope", .note, "neither codes nor sends pictures") {
            $0.bus.activatable.insert(BTCallName.videoBus)
        },
    ]
}
