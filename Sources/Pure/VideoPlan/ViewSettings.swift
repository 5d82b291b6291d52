package import VideoCapture

/// What shows a picture.
package enum ViewSink: String, Hashable, Sendable, CaseIterable {
    case none
    /// A display without a window system: `/dev/dri/card0`.
    case kms
    /// A window of a Wayland compositor.
    case wayland
    /// A framebuffer: `/dev/fb0`.
    case fbdev
    /// A V4L2 output node.
    case device
    /// A descriptor of a client, which gets YUV4MPEG2.
    case descriptor

    /// The sinks of a configuration file, for messages: a descriptor comes from a client only.
    package static let configurable = "none, kms, wayland, fbdev or device"

    /// Whether it has an area on which a picture has a place.
    package var isDisplay: Bool {
        switch self {
        case .kms, .wayland, .fbdev: true
        case .none, .device, .descriptor: false
        }
    }
}

/// A place on a display, in pixels from its upper left corner.
package struct PictureRectangle: Hashable, Sendable, CustomStringConvertible {
    package static let accepted =
        "X,Y,WIDTHxHEIGHT in pixels, X and Y -\(FrameSize.limit) to \(FrameSize.limit), the others 1 to \(FrameSize.limit)"

    package let x: Int
    package let y: Int
    package let size: FrameSize

    init(x: Int, y: Int, size: FrameSize) {
        self.x = x
        self.y = y
        self.size = size
    }

    /// - Returns: nil for a number out of range.
    package init?(x: Int, y: Int, width: Int, height: Int) {
        let range = -FrameSize.limit...FrameSize.limit
        guard range.contains(x), range.contains(y), let size = FrameSize(width, height) else { return nil }
        self.x = x
        self.y = y
        self.size = size
    }

    /// - Parameter text: `0,0,640x480`.
    package init?(_ text: String) {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false)
        guard parts.count == 3, let x = Self.number(parts[0]), let y = Self.number(parts[1]),
            let size = FrameSize(String(parts[2]))
        else { return nil }
        self.init(x: x, y: y, width: size.width, height: size.height)
    }

    private static func number(_ text: Substring) -> Int? {
        let digits = text.hasPrefix("-") ? text.dropFirst() : text
        guard (1...5).contains(digits.utf8.count), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return Int(text)
    }

    package var description: String { "\(x),\(y),\(size)" }
}

/// Where one side's picture is shown.
package struct ViewSettings: Hashable, Sendable {
    package static let acceptedRotations = [0, 90, 180, 270]

    package var sink: ViewSink
    /// Path of the card, framebuffer or output node, or the name of the Wayland display; nil: the first one.
    package var device: String?
    /// Nil: all of the display.
    package var rectangle: PictureRectangle?
    /// Clockwise, in degrees.
    package var rotation: Int

    package init(
        _ sink: ViewSink = .none, device: String? = nil, rectangle: PictureRectangle? = nil, rotation: Int = 0
    ) {
        self.sink = sink
        self.device = device
        self.rectangle = rectangle
        self.rotation = rotation
    }

    /// Why these settings are not accepted, with what is; nil: they are.
    package var refusal: String? {
        guard Self.acceptedRotations.contains(rotation) else {
            return "rotation is \(rotation); accepted: 0, 90, 180 or 270"
        }
        if rotation != 0, sink == .none { return "sink none has no rotation: it shows nothing" }
        if rectangle != nil, !sink.isDisplay {
            return "sink \(sink.rawValue) has no rectangle: only kms, wayland and fbdev have one"
        }
        return deviceRefusal
    }

    private var deviceRefusal: String? {
        guard let device else {
            return sink == .device ? "sink device needs a device: the path of a V4L2 output node" : nil
        }
        let isAccepted =
            switch sink {
            case .none, .descriptor: false
            case .kms: Self.isNode(device, "/dev/dri/")
            case .fbdev: Self.isNode(device, "/dev/")
            case .device: Self.isNode(device, "/dev/")
            case .wayland: Self.isName(device)
            }
        guard !isAccepted else { return nil }
        return
            switch sink
        {
        case .none, .descriptor: "sink \(sink.rawValue) has no device"
        case .kms: "device is not accepted; accepted for kms: a card such as /dev/dri/card0"
        case .fbdev: "device is not accepted; accepted for fbdev: a framebuffer such as /dev/fb0"
        case .device: "device is not accepted; accepted: a V4L2 output node such as /dev/video-btcall"
        case .wayland: "device is not accepted; accepted for wayland: a display such as wayland-0, or its path"
        }
    }

    /// Whether a text can be the path of a node in a directory: at most 255 bytes, without `..` and control characters.
    package static func isNode(_ path: String, _ directory: String) -> Bool {
        path.hasPrefix(directory) && path.utf8.count > directory.utf8.count && isName(path)
            && !path.split(separator: "/").contains("..")
    }

    private static func isName(_ text: String) -> Bool {
        (1...255).contains(text.utf8.count) && text.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F }
    }
}
