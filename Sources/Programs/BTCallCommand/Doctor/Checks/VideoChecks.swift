import BTCallAPI
import DBus

/// Checks btcall-video: its camera, its output, its views, and the plugins of GStreamer that they need.
let videoChecks = [
    DoctorCheck(
        "video-camera", .warning,
        finds: "btcall-video cannot use the chosen camera: the far end of a video call sees a card",
        remedy: "plug it in, choose another one, or remove what denies it", command: "btcall video cameras"
    ) { system in
        guard let problem = system.video?["Problem"]?.stringValue?.nonEmpty else { return .ok }
        let isNone = system.video?["Cameras"]?.arrayValue?.isEmpty == true
        return .found([
            DoctorEvidence(
                isNone ? "btcall-video finds no camera" : "btcall-video cannot use the chosen camera",
                seen: "Problem of \(BTCallName.Interface.video): \(problem)")
        ])
    },
    DoctorCheck(
        "video-output", .warning,
        finds: "the V4L2 node of [output] device is missing or fails: the softphone gets no picture",
        remedy: "install v4l2loopback-dkms and copy the files of /usr/share/doc/btcall-video/examples to /etc",
        command: "modprobe v4l2loopback; ls -l /dev/video-btcall"
    ) { system in
        guard let output = system.videoOutput else { return .ok }
        if !system.exists(output.path) {
            let isLoaded = system.exists("/sys/module/v4l2loopback")
            return .found([
                DoctorEvidence(
                    "there is no \(output.path), which [output] device names",
                    seen: isLoaded ? "v4l2loopback is loaded, no node has this name" : "no /sys/module/v4l2loopback",
                    remedy: isLoaded
                        ? "give the node its name: 71-btcall-video.rules of the examples belongs in /etc/udev/rules.d"
                        : nil)
            ])
        }
        guard let problem = output.problem else { return .ok }
        return .found([
            DoctorEvidence(
                "\(output.path) gets no picture", seen: "OutputDevice of \(BTCallName.Interface.video): \(problem)",
                remedy: "see the problem")
        ])
    },
    DoctorCheck(
        "video-view", .warning, finds: "a picture of a video call cannot be shown where it should be",
        remedy: "see the problem, or choose another sink", command: "btcall video view"
    ) { system in
        DoctorCheck.Outcome(
            system.videoViews.compactMap { side, view in
                view.problem.map {
                    DoctorEvidence(
                        "the \(side.rawValue) view (\(view.view.sink.rawValue)) shows nothing",
                        seen: "Views of \(BTCallName.Interface.video): \($0)")
                }
            })
    },
    DoctorCheck(
        "video-plugins", .warning, finds: "a plugin of GStreamer that btcall-video needs is not installed",
        remedy: "install the package", command: "gst-inspect-1.0 PLUGIN"
    ) { system in
        guard system.video != nil else { return .ok }
        let directories = system.pluginDirectories
        guard !directories.isEmpty else { return .skipped("there is no directory gstreamer-1.0 below /usr/lib") }
        return DoctorCheck.Outcome(
            system.neededPlugins.compactMap { plugin in
                let file = "libgst\(plugin.name).so"
                guard !directories.contains(where: { system.exists("\($0)/\(file)") }) else { return nil }
                return DoctorEvidence(
                    "GStreamer's plugin \(plugin.name) is missing: \(plugin.use)",
                    seen: "no \(file) in \(directories.joined(separator: ", "))", remedy: "install \(plugin.package)",
                    command: "apt-get install \(plugin.package)")
            })
    },
    DoctorCheck(
        "video-scope", .note, finds: "what btcall-video does not do: code, send or receive pictures, and find faces",
        remedy: "nothing: the softphone codes and sends, with [output] device as its camera",
        command: "btcall video picture"
    ) { system in
        let name = BTCallName.videoBus
        let isRunning = system.bus.peers.contains { $0.name == name }
        guard isRunning || system.bus.activatable.contains(name) else { return .ok }
        return .found([
            DoctorEvidence(
                "btcall-video neither codes nor sends pictures, and finds no faces",
                seen: isRunning ? "\(name) is on the bus" : "the bus can start \(name)")
        ])
    },
]

private struct NeededPlugin {
    let name: String
    let package: String
    /// What does not work without it.
    let use: String
}

extension DoctorSystem {
    /// Properties of btcall-video; nil when it does not run or does not answer.
    fileprivate var video: [String: Value]? { bus.video.objects[BTCallPath.video]?[BTCallName.Interface.video] }

    fileprivate var videoOutput: OutputDescription? {
        // A description that cannot be decoded counts as none.
        try? OutputDescription(Fields(video ?? [:], of: BTCallName.Interface.video).dictionary("OutputDevice"))
    }

    fileprivate var videoViews: [(side: PictureSideWord, view: ViewDescription)] {
        let views = Fields(video?["Views"]?.vardictValue ?? [:], of: "Views")
        return PictureSideWord.allCases.compactMap { side in
            // The same.
            (try? ViewDescription(views.dictionary(side.rawValue))).map { (side: side, view: $0) }
        }
    }

    /// Where GStreamer looks for its plugins.
    fileprivate var pluginDirectories: [String] {
        let parents = ["/usr/lib"] + entries("/usr/lib").filter { $0.hasSuffix("-linux-gnu") }.map { "/usr/lib/\($0)" }
        return parents.map { "\($0)/gstreamer-1.0" }.filter { exists($0) }
    }

    fileprivate var neededPlugins: [NeededPlugin] {
        let bad = "gstreamer1.0-plugins-bad"
        var plugins = [
            NeededPlugin(name: "app", package: "gstreamer1.0-plugins-base", use: "no picture is handed out"),
            NeededPlugin(name: "pango", package: "gstreamer1.0-x", use: "the card has no name"),
            NeededPlugin(name: "video4linux2", package: "gstreamer1.0-plugins-good", use: "no camera is captured"),
            NeededPlugin(name: "jpeg", package: "gstreamer1.0-plugins-good", use: "cameras with MJPG are not decoded"),
        ]
        for (side, view) in videoViews {
            let use = "the \(side.rawValue) view shows nothing"
            switch view.view.sink {
            case .kms: plugins.append(NeededPlugin(name: "kms", package: bad, use: use))
            case .wayland: plugins.append(NeededPlugin(name: "waylandsink", package: bad, use: use))
            case .fbdev: plugins.append(NeededPlugin(name: "fbdevsink", package: bad, use: use))
            case .none, .device, .descriptor: break
            }
        }
        if let background = video?["Background"]?.stringValue, background != "off" {
            plugins.append(
                NeededPlugin(name: "opencv", package: "gstreamer1.0-opencv", use: "the background is not replaced"))
        }
        return plugins
    }
}
