package import VideoCapture

/// A pipeline of GStreamer to be made.
///
/// The description has only our own words and numbers. Texts from outside are set as properties, and so cannot add elements.
package struct PipelinePlan: Hashable, Sendable {
    /// A property of a named element.
    package struct Property: Hashable, Sendable {
        package let element: String
        package let name: String
        package let text: String

        package init(_ element: String, _ name: String, _ text: String) {
            self.element = element
            self.name = name
            self.text = text
        }
    }

    /// An element with the Debian package that has it.
    package struct Element: Hashable, Sendable {
        package let name: String
        package let package: String

        package init(_ name: String, in package: String) {
            self.name = name
            self.package = package
        }
    }

    /// As `gst-launch-1.0` understands it.
    package let description: String
    package var properties: [Property] = []
    /// Path of a node that is opened for the property `fd` of the element `sink`.
    package var displayCard: String?
    /// Elements that may not be installed.
    package var needs: [Element] = []

    package init(
        _ description: String, _ properties: [Property] = [], displayCard: String? = nil, needs: [Element] = []
    ) {
        self.description = description
        self.properties = properties
        self.displayCard = displayCard
        self.needs = needs
    }

    static let base = "gstreamer1.0-plugins-base"
    static let good = "gstreamer1.0-plugins-good"
    static let bad = "gstreamer1.0-plugins-bad"
    static let pango = "gstreamer1.0-x"
    static let opencv = "gstreamer1.0-opencv"

    /// Elements that nearly every pipeline has.
    package static let usual = [
        Element("videoconvert", in: base), Element("videoscale", in: base), Element("appsink", in: base),
    ]

    // MARK: Parts

    /// Name of the input of a pipeline with one.
    package static let input = "in"

    /// An input that keeps the two newest pictures.
    static func input(_ name: String, _ format: PictureFormat) -> String {
        "appsrc name=\(name) is-live=true do-timestamp=true format=time block=false max-bytes=0 max-time=0 "
            + "max-buffers=2 leaky-type=downstream caps=\"\(format.caps)\""
    }

    static let output = "appsink name=out sync=false max-buffers=1 drop=true"

    // MARK: Sources

    /// The camera, scaled to the picture with black borders where the shape differs.
    ///
    /// - Parameters:
    ///   - path: of its node.
    ///   - settings: what it was set to.
    package static func camera(_ path: String, _ settings: CaptureSettings, _ format: PictureFormat) -> PipelinePlan {
        PipelinePlan(
            "v4l2src name=camera ! \(caps(settings)) ! \(settings.isCompressed ? "jpegdec ! " : "")"
                + captured(format), [Property("camera", "device", path)],
            needs: usual + [Element("v4l2src", in: good), Element("jpegdec", in: good)])
    }

    /// What follows a source of pictures: `videoconvert`, and the picture's size.
    package static func captured(_ format: PictureFormat) -> String {
        "videoconvert ! videoscale add-borders=true ! \(format.rawCaps) ! \(output)"
    }

    /// A node that a program writes the far end's picture to, in the size that it has.
    package static func remoteSource(_ path: String) -> PipelinePlan {
        let widths = "[16,\(PictureFormat.most.width),8]"
        let heights = "[16,\(PictureFormat.most.height),2]"
        return PipelinePlan(
            "v4l2src name=camera ! videoconvert ! videoscale ! "
                + "video/x-raw,format=I420,width=\(widths),height=\(heights) ! \(output)",
            [Property("camera", "device", path)], needs: usual + [Element("v4l2src", in: good)])
    }

    private static func caps(_ settings: CaptureSettings) -> String {
        let kind = settings.isCompressed ? "image/jpeg" : "video/x-raw,format=\(settings.rawFormat)"
        let size = "width=\(settings.size.width),height=\(settings.size.height)"
        guard let rate = settings.rate?.thousandths else { return "\(kind),\(size)" }
        // The driver's fraction is rounded to thousandths: 30000/1001.
        let slack = rate / 200 + 1
        return "\(kind),\(size),framerate=[\(max(1, rate - slack))/1000,\(rate + slack)/1000]"
    }

    // MARK: Cards

    /// One picture with the box's name.
    package static func card(_ name: String, _ format: PictureFormat) -> PipelinePlan {
        PipelinePlan(
            "videotestsrc num-buffers=1 pattern=solid-color foreground-color=0xff20282c ! \(format.caps) ! "
                + "textoverlay name=text halignment=center valignment=center font-desc=\"Sans 28\" ! videoconvert ! "
                + "\(format.rawCaps) ! \(output)", [Property("text", "text", markup(name))],
            needs: usual + [Element("videotestsrc", in: base), Element("textoverlay", in: pango)])
    }

    /// The element understands markup (Pango).
    private static func markup(_ text: String) -> String {
        text.reduce(into: "") { markup, character in
            switch character {
            case "&": markup += "&amp;"
            case "<": markup += "&lt;"
            case ">": markup += "&gt;"
            default: markup.append(character)
            }
        }
    }

    /// A picture of a file, cut to the picture's shape.
    package static func file(_ file: PictureFile, _ format: PictureFormat) -> PipelinePlan {
        let (kind, decoder) =
            switch file.kind {
            case .png: ("image/png", "pngdec")
            case .jpeg: ("image/jpeg", "jpegdec")
            }
        return PipelinePlan(
            "appsrc name=\(input) format=bytes max-bytes=0 caps=\"\(kind)\" ! \(decoder) ! videoconvert ! "
                + "aspectratiocrop aspect-ratio=\(format.width)/\(format.height) ! videoscale ! \(format.rawCaps) ! "
                + output,
            needs: usual + [Element(decoder, in: good), Element("aspectratiocrop", in: good)])
    }

    // MARK: Background

    /// Elements without which there is no virtual background.
    package static let backgroundNeeds = usual + [Element("segmentation", in: opencv)]

    /// The foreground of each picture, as white on black.
    ///
    /// It is looked for in a smaller picture: that is faster, and leaves out noise.
    package static func mask(_ format: PictureFormat) -> PipelinePlan {
        let divisor = max(1, min(format.width, format.height * 4 / 3) / 160)
        let (width, height) = (max(16, format.width / divisor), max(16, format.height / divisor))
        return PipelinePlan(
            input(input, format) + " ! videoscale ! video/x-raw,width=\(width),height=\(height) ! videoconvert ! "
                + "segmentation method=mog2 test-mode=true learning-rate=0.0005 ! videoconvert ! "
                + "video/x-raw,format=GRAY8 ! videoscale ! "
                + "video/x-raw,format=GRAY8,width=\(format.width),height=\(format.height) ! \(output)",
            needs: backgroundNeeds)
    }
}

extension PictureFormat {
    /// With the rate.
    package var caps: String { "\(rawCaps),framerate=\(rateThousandths)/1000" }
    /// Size and format only: a camera may have another rate.
    package var rawCaps: String { "video/x-raw,format=I420,width=\(width),height=\(height),pixel-aspect-ratio=1/1" }
}

extension CaptureSettings {
    var isCompressed: Bool { ["MJPG", "JPEG"].contains(format.description) }

    /// GStreamer's name of the format (`gstv4l2object.c`).
    var rawFormat: String {
        switch format.description {
        case "NV12", "NM12": "NV12"
        case "NV21", "NM21": "NV21"
        case "YU12", "YM12": "I420"
        case "YV12": "YV12"
        case "YUYV": "YUY2"
        case "UYVY": "UYVY"
        case "YVYU": "YVYU"
        case "VYUY": "VYUY"
        case "NV16": "NV16"
        case "NV61": "NV61"
        case "RGB3": "RGB"
        case "BGR3": "BGR"
        case "RGBP": "RGB16"
        case "XR24": "BGRx"
        case "AR24": "BGRA"
        case "BX24": "xRGB"
        case "BA24": "ARGB"
        default: "GRAY8"
        }
    }
}
