import ArgumentParser
import BTCall
import CommandKit
import ControlLoop
import JSONText

/// `btcall video`: the cameras and pictures of btcall-video.
struct VideoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "video", abstract: "Choose the camera of video calls, and show and use their pictures.",
        discussion: """
            It needs btcall-video, which finds cameras, sets the chosen one and hands out the pictures of calls. Coding             and network are the softphone's.

            Examples:
              btcall video cameras
              btcall video set back --resolution 640x480 --rate 25
              btcall video access
              btcall video view remote kms
            """,
        subcommands: [
            Cameras.self, Change.self, Access.self, Picture.self, View.self, Watch.self, Background.self,
        ], defaultSubcommand: Cameras.self)

    struct Cameras: BridgeCommand {
        static let configuration = CommandConfiguration(
            commandName: "cameras", abstract: "List the cameras, and what the chosen one is set to.",
            discussion: """
                `front` and `back` are those of /etc/btcall/video.conf. Without it front is the first camera.

                Example: btcall video cameras
                """)

        @OptionGroup var options: CommonOptions

        func perform(on bridge: CallBridge, _ output: Output) async throws {
            try await VideoCommand.show(bridge, options, output)
        }
    }

    struct Change: BridgeCommand {
        static let configuration = CommandConfiguration(
            commandName: "set", abstract: "Choose the camera, its size and its rate; kept over restarts.",
            discussion: """
                auto is the largest picture of 4:3 or 16:9 up to 1280x720 that holds the rate. What the driver cannot \
                do becomes the nearest that it can: the output says what was reached. --reset forgets all that was \
                set here.

                Examples:
                  btcall video set front
                  btcall video set --resolution auto --rate 30
                  btcall video set --reset
                """)

        @Argument(help: "front, back, or the name of a camera as `btcall video cameras` shows it.")
        var camera: String?

        @Option(help: ArgumentHelp("auto, or a size such as 640x480.", valueName: "size"))
        var resolution: String?

        @Option(help: ArgumentHelp("Frames per second: 1 to 1000.", valueName: "frames"))
        var rate: Int?

        @Flag(help: "Use the front camera and the picture of the configuration again.")
        var reset = false

        @OptionGroup var options: CommonOptions

        func validate() throws {
            let isEmpty = camera == nil && resolution == nil && rate == nil
            if isEmpty != reset {
                throw ValidationError(
                    reset
                        ? "--reset stands alone" : "give a camera, --resolution, --rate or --reset: what is to be set?")
            }
        }

        func perform(on bridge: CallBridge, _ output: Output) async throws {
            if reset { try await bridge.video.reset() }
            if let camera { try await bridge.video.setCamera(camera) }
            if resolution != nil || rate != nil {
                let now = try await bridge.video.status()
                try await bridge.video.setCapture(
                    resolution: resolution ?? now.preferredCaptureResolution,
                    framesPerSecond: rate ?? now.preferredCaptureFrameRate)
            }
            try await VideoCommand.show(bridge, options, output)
        }
    }

    struct Access: BridgeCommand {
        static let configuration = CommandConfiguration(
            commandName: "access", abstract: "Say whether the microphone and the camera may be used now.",
            discussion: """
                The chosen camera is opened for a moment. Exit status 1: one of them is denied.

                Example: btcall video access
                """)

        @OptionGroup var options: CommonOptions

        func perform(on bridge: CallBridge, _ output: Output) async throws {
            let access = try await bridge.video.requestMicrophoneAndCameraPermission(microphone: true, camera: true)
            if options.json {
                output.print(access.json)
            } else {
                output.print(access.facts)
            }
            if access.isDenied { throw ExitCode(1) }
        }
    }

    @ControlPlane
    private static func show(_ bridge: CallBridge, _ options: CommonOptions, _ output: Output) async throws {
        let status = try await bridge.video.status()
        guard !options.json else { return output.print(status.json) }
        if status.cameras.isEmpty {
            output.print("no camera is connected")
        } else {
            output.print(status.table)
        }
        output.print(status.line)
    }
}

extension BridgeVideo.Status {
    var table: Table {
        var table = Table("CAMERA", "ID", "NAME", "NODE")
        for camera in cameras {
            table.add(
                camera.aliases.isEmpty ? "-" : camera.aliases.joined(separator: ", "), camera.id, camera.name,
                camera.isPermitted ? camera.path : "\(camera.path) (not permitted)")
            if camera.id == capture?.id { table.emphasize(.good, inColumn: "ID") }
        }
        return table
    }

    /// What is chosen, and what was reached.
    var line: String {
        guard let capture else { return problem ?? "camera \(camera) is not set" }
        let rate = capture.framesPerSecond.map { "\($0.frameRateText) frames per second" } ?? "an unknown rate"
        return "\(camera): \(capture.width)x\(capture.height) \(capture.format), \(rate)"
            + " (requested: \(preferredCaptureResolution), \(preferredCaptureFrameRate))"
    }

    var json: JSON {
        [
            "camera": .string(camera), "resolution": .string(preferredCaptureResolution),
            "requestedFramesPerSecond": JSON(preferredCaptureFrameRate),
            "cameras": .array(cameras.map(\.json)), "capture": capture?.json ?? .null, "problem": JSON(problem),
        ]
    }
}

extension BridgeVideo.Camera {
    fileprivate var json: JSON {
        [
            "cameraId": .string(id), "name": .string(name), "path": .string(path), "aliases": JSON(aliases),
            "permitted": JSON(isPermitted),
        ]
    }
}

extension BridgeVideo.Capture {
    fileprivate var json: JSON {
        [
            "camera": .string(camera), "cameraId": .string(id), "width": JSON(width), "height": JSON(height),
            "frameRate": framesPerSecond.map { JSON.number($0) } ?? .null, "pixelFormat": .string(format),
        ]
    }

}

extension Double {
    /// A rate with as many digits as it needs, at most three.
    var frameRateText: String {
        let text = "\(self)"
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }
}

extension BridgeVideo.Access {
    private var verdicts: [(name: String, verdict: BridgeVideo.Verdict?)] {
        [("microphone", microphone), ("camera", camera)]
    }

    var isDenied: Bool { verdicts.contains { $0.verdict.map { $0 != .allowed } == true } }

    var facts: Facts {
        var facts = Facts()
        for (name, verdict) in verdicts {
            switch verdict {
            case nil: continue
            case .allowed: facts.add(name, "allowed", .good)
            case .denied(_, let reason): facts.add(name, "denied: \(reason)", .bad)
            }
        }
        return facts
    }

    var json: JSON {
        JSON(
            verdicts.flatMap { name, verdict -> [(String, JSON)] in
                var (isAllowed, cause, reason): (Bool?, String?, String?) = (nil, nil, nil)
                switch verdict {
                case nil: break
                case .allowed: isAllowed = true
                case .denied(let why, let text): (isAllowed, cause, reason) = (false, why.rawValue, text)
                }
                return [
                    (name + "Allowed", isAllowed.map { JSON($0) } ?? .null), (name + "Cause", JSON(cause)),
                    (name + "Reason", JSON(reason)),
                ]
            })
    }
}
