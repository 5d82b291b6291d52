import ArgumentParser
import BTCall
import CommandKit
import ControlLoop
import Glibc
import JSONText

// `btcall video`: the pictures of a call.
extension VideoCommand {
    struct Picture: BridgeCommand {
        static let configuration = CommandConfiguration(
            commandName: "picture", abstract: "Show what the far end sees, and where pictures are shown.",
            discussion: """
                The far end gets the camera, or a card with the name of the box: while the call is held, its video is \
                off, the camera is denied, absent, in use or fails.

                Example: btcall video picture
                """)

        @OptionGroup var options: CommonOptions

        func perform(on bridge: CallBridge, _ output: Output) async throws {
            let status = try await bridge.video.pictureStatus()
            if options.json {
                output.print(status.json)
            } else {
                output.print(status.facts)
            }
        }
    }

    struct View: BridgeCommand {
        static let configuration = CommandConfiguration(
            commandName: "view", abstract: "Show a call's pictures on a display or a device, until btcall-video ends.",
            discussion: """
                SIDE is local, what the far end gets, or remote, the far end. Without SINK it says what is shown where. \
                SINK is one of:
                  none     nothing
                  kms      a display without a desktop; --device is its card
                  wayland  a window of a Wayland compositor; --device is its display
                  fbdev    a framebuffer
                  device   the V4L2 output node of --device
                Both pictures on one display are picture in picture. [view local] and [view remote] of \
                /etc/btcall/video.conf say what is shown at first, and after --reset.

                Examples:
                  btcall video view
                  btcall video view remote kms
                  btcall video view local kms --rectangle 0,0,320x240
                  btcall video view local --reset
                """)

        /// The sinks that a command line can name: a descriptor needs a program.
        enum Sink: String, ExpressibleByArgument, CaseIterable, Sendable {
            case none, kms, wayland, fbdev, device

            var sink: BridgeVideo.View.Sink {
                switch self {
                case .none: .none
                case .kms: .kms
                case .wayland: .wayland
                case .fbdev: .fbdev
                case .device: .device
                }
            }
        }

        @Argument(help: "local or remote.")
        var side: PictureSide?

        @Argument(help: "none, kms, wayland, fbdev or device.")
        var sink: Sink?

        @Option(
            help: ArgumentHelp(
                "The card, framebuffer, V4L2 node or Wayland display; by default the first.", valueName: "name"),
            completion: .file())
        var device: String?

        @Option(
            help: ArgumentHelp(
                "Part of the display, X,Y,WIDTHxHEIGHT in pixels; by default all of it.", valueName: "area"),
            transform: View.parse)
        var rectangle: BridgeVideo.Rectangle?

        @Option(help: ArgumentHelp("Clockwise: 0, 90, 180 or 270.", valueName: "degrees"))
        var rotation: Int?

        @Flag(help: "Show it again as /etc/btcall/video.conf says.")
        var reset = false

        @OptionGroup var options: CommonOptions

        func validate() throws {
            let hasDetails = device != nil || rectangle != nil || rotation != nil
            if sink == nil, hasDetails { throw ValidationError("--device, --rectangle and --rotation need a SINK.") }
            if reset, side == nil || sink != nil { throw ValidationError("--reset needs a SIDE, and no SINK.") }
        }

        private static func parse(_ text: String) throws -> BridgeVideo.Rectangle {
            let parts = text.split(separator: ",", omittingEmptySubsequences: false)
            let size = parts.last?.split(separator: "x", omittingEmptySubsequences: false) ?? []
            let numbers = (parts.dropLast() + size).compactMap { Int32($0).map { Int($0) } }
            guard parts.count == 3, size.count == 2, numbers.count == 4 else {
                throw ValidationError("accepted: X,Y,WIDTHxHEIGHT in pixels, such as 0,0,320x240")
            }
            return BridgeVideo.Rectangle(x: numbers[0], y: numbers[1], width: numbers[2], height: numbers[3])
        }

        func perform(on bridge: CallBridge, _ output: Output) async throws {
            if let side, sink != nil || reset {
                let view = sink.map {
                    BridgeVideo.View($0.sink, device: device, rectangle: rectangle, rotation: rotation ?? 0)
                }
                switch side {
                case .local: try await bridge.video.setPreviewView(view)
                case .remote: try await bridge.video.setRemoteView(view)
                }
            }
            let views = try await bridge.video.views()
            let shown = views.bySide.filter { side == nil || $0.side == side }
            if options.json {
                output.print(.array(shown.map { $0.view.json($0.side) }))
            } else {
                var facts = Facts()
                for (side, view) in shown { view.add(to: &facts, side) }
                output.print(facts)
            }
        }
    }

    struct Background: BridgeCommand {
        static let configuration = CommandConfiguration(
            commandName: "background", abstract: "Show or replace what is behind a person; kept over restarts.",
            discussion: """
                For a camera that does not move: what moves is the person. It needs the package gstreamer1.0-opencv. \
                btcall-video must be able to read the file, which it cannot below /home.

                Examples:
                  btcall video background
                  btcall video background blur
                  btcall video background /srv/btcall/wall.png
                """)

        @Argument(
            help: ArgumentHelp("off, blur, or a PNG or JPEG file.", valueName: "background"),
            completion: .file(extensions: ["png", "jpg", "jpeg"]))
        var background: String?

        @OptionGroup var options: CommonOptions

        func perform(on bridge: CallBridge, _ output: Output) async throws {
            if let background { try await bridge.video.setBackground(Self.absolute(background)) }
            let now = try await bridge.video.pictureStatus().background
            if options.json {
                output.print(["background": .string(now)])
            } else {
                output.print(now)
            }
        }

        /// The text as btcall-video reads it, which has another working directory.
        static func absolute(_ text: String) -> String {
            guard text != "off", text != "blur", !text.hasPrefix("/"), let here = getcwd(nil, 0) else { return text }
            defer { free(here) }
            return "\(String(cString: here))/\(text)"
        }
    }

    enum PictureSide: String, ExpressibleByArgument, CaseIterable, Sendable {
        case local, remote
    }
}

// MARK: Texts

extension BridgeVideo.PictureStatus {
    var facts: Facts {
        var facts = Facts()
        switch picture.local {
        case .none: facts.add("far end sees", "nothing: no call with video")
        case .camera: facts.add("far end sees", "the camera" + size, .good)
        case .card(let cause): facts.add("far end sees", "the card\(size): \(cause.text)", .warning)
        }
        if let call = picture.call { facts.add("call", call.description) }
        facts.add("far end's picture", picture.isRemote ? "arrives" : "none")
        let isApplied = picture.isBackgrounded || background == "off"
        facts.add("background", isApplied ? background : "\(background), not applied now")
        for (side, view) in views.bySide { view.add(to: &facts, side) }
        if let output {
            let state = output.isRunning ? "running" : "not running"
            facts.add("output", "\(output.path): \(output.problem ?? state)", output.problem == nil ? nil : .bad)
        }
        facts.add("taps", "\(taps)")
        return facts
    }

    private var size: String {
        guard let width = picture.width, let height = picture.height else { return "" }
        let rate = picture.framesPerSecond.map { ", \($0.frameRateText) frames per second" } ?? ""
        return ", \(width)x\(height)\(rate)"
    }

    var json: JSON {
        var (local, cause): (String?, String?) = (nil, nil)
        switch picture.local {
        case .none: break
        case .camera: local = "camera"
        case .card(let why): (local, cause) = ("card", why.rawValue)
        }
        return [
            "localPicture": JSON(local), "cardCause": JSON(cause), "call": JSON(picture.call?.description),
            "width": JSON(picture.width), "height": JSON(picture.height),
            "frameRate": picture.framesPerSecond.map { .number($0) } ?? .null,
            "remotePicture": JSON(picture.isRemote), "backgrounded": JSON(picture.isBackgrounded),
            "background": .string(background), "views": .array(views.bySide.map { $0.view.json($0.side) }),
            "outputDevice": output?.json ?? .null, "taps": JSON(taps),
        ]
    }
}

extension BridgeVideo.CardCause {
    fileprivate var text: String {
        switch self {
        case .held: "the call is held"
        case .disabled: "video is off in this call"
        case .privacy: "the camera or the microphone is denied (`btcall video access`)"
        case .noCamera: "the chosen camera is absent (`btcall video cameras`)"
        case .inUse: "another program uses the camera (`btcall video access`)"
        case .failed: "the camera does not deliver: see the log of btcall-video"
        }
    }
}

extension BridgeVideo.OutputDevice {
    fileprivate var json: JSON {
        ["path": .string(path), "running": JSON(isRunning), "problem": JSON(problem)]
    }
}

extension BridgeVideo.Views {
    fileprivate var bySide: [(side: VideoCommand.PictureSide, view: BridgeVideo.ViewStatus)] {
        [(.local, preview), (.remote, remote)]
    }
}

extension BridgeVideo.ViewStatus {
    fileprivate func add(to facts: inout Facts, _ side: VideoCommand.PictureSide) {
        facts.add("\(side.rawValue) view", text, problem == nil ? (isRunning ? .good : nil) : .bad)
    }

    /// `kms /dev/dri/card0 at 0,0,320x240, turned by 90: running`.
    private var text: String {
        guard view.sink != .none else { return "none" }
        var text = view.sink.rawValue
        if let device = view.device { text += " \(device)" }
        if let part = view.rectangle { text += " at \(part.x),\(part.y),\(part.width)x\(part.height)" }
        if view.rotation != 0 { text += ", turned by \(view.rotation)" }
        return "\(text): \(problem ?? (isRunning ? "running" : "not running"))"
    }

    fileprivate func json(_ side: VideoCommand.PictureSide) -> JSON {
        [
            "side": .string(side.rawValue), "sink": JSON(view.sink == .none ? nil : view.sink.rawValue),
            "sinkDevice": JSON(view.device), "rectangle": view.rectangle?.json ?? .null,
            "rotation": JSON(view.rotation), "running": JSON(isRunning), "problem": JSON(problem),
        ]
    }
}

extension BridgeVideo.Rectangle {
    fileprivate var json: JSON { ["x": JSON(x), "y": JSON(y), "width": JSON(width), "height": JSON(height)] }
}
