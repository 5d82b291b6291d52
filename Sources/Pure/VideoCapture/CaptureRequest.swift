/// Requested picture of a camera.
package struct CaptureRequest: Hashable, Sendable {
    package enum Resolution: Hashable, Sendable, CustomStringConvertible {
        /// The largest of 4:3 or 16:9 up to 1280x720 that holds the rate.
        case automatic
        case size(FrameSize)

        /// - Parameter text: `auto` or a size such as `640x480`.
        package init?(_ text: String) {
            if text == "auto" {
                self = .automatic
            } else if let size = FrameSize(text) {
                self = .size(size)
            } else {
                return nil
            }
        }

        package var description: String {
            switch self {
            case .automatic: "auto"
            case .size(let size): "\(size)"
            }
        }
    }

    package static let acceptedResolution = "auto, or WIDTHxHEIGHT in pixels, each 1 to \(FrameSize.limit)"
    package static let acceptedRates = 1...1000

    package let resolution: Resolution
    package let framesPerSecond: Int

    /// - Parameter framesPerSecond: a number outside ``acceptedRates`` becomes the nearest of them.
    package init(_ resolution: Resolution = .automatic, framesPerSecond: Int = 30) {
        self.resolution = resolution
        let range = Self.acceptedRates
        self.framesPerSecond = min(max(framesPerSecond, range.lowerBound), range.upperBound)
    }

    /// In thousandths of a frame per second.
    var rate: FrameRate? { FrameRate(thousandths: framesPerSecond * 1000) }
    var interval: FrameInterval { FrameInterval(framesPerSecond: framesPerSecond) }
}

/// A pixel format that a driver offers, with the answers about its sizes in the driver's order.
package struct FormatOffer: Hashable, Sendable {
    package let format: PixelFormat
    package let sizes: [SizeAnswer]

    package init(_ format: PixelFormat, sizes: [SizeAnswer]) {
        self.format = format
        self.sizes = sizes
    }
}

/// A format and a size whose intervals matter for a request.
package struct CaptureQuestion: Hashable, Sendable {
    package let format: PixelFormat
    package let size: FrameSize

    package init(_ format: PixelFormat, _ size: FrameSize) {
        self.format = format
        self.size = size
    }
}

/// What to set: `VIDIOC_S_FMT`, then `VIDIOC_S_PARM`.
package struct CaptureChoice: Hashable, Sendable {
    package let format: PixelFormat
    package let size: FrameSize
    /// Nil if the driver names no interval: the driver then decides.
    package let interval: FrameInterval?

    package init(_ format: PixelFormat, _ size: FrameSize, _ interval: FrameInterval?) {
        self.format = format
        self.size = size
        self.interval = interval
    }
}

/// What a camera was set to, by the driver's own answer.
package struct CaptureSettings: Hashable, Sendable {
    package let format: PixelFormat
    package let size: FrameSize
    /// Nil if the driver does not say it.
    package let rate: FrameRate?

    package init(_ format: PixelFormat, _ size: FrameSize, _ rate: FrameRate?) {
        self.format = format
        self.size = size
        self.rate = rate
    }
}

/// Why a camera cannot be set.
package enum CaptureRefusal: Hashable, Sendable, CustomStringConvertible {
    /// The driver offers no format that is a picture of its own.
    case noFormat(offered: [PixelFormat])
    /// The driver names no usable size for its formats.
    case noSize([PixelFormat])
    /// The driver refused every choice, or answered with a format or size that is unusable.
    case noneAccepted(tried: Int)

    package var description: String {
        switch self {
        case .noFormat(let offered):
            offered.isEmpty
                ? "it offers no pixel format: see `v4l2-ctl --list-formats`"
                : "it offers only \(Self.list(offered)); accepted: \(PixelFormat.preference.joined(separator: ", "))"
        case .noSize(let formats): "it names no frame size for \(Self.list(formats)): see `v4l2-ctl --list-formats-ext`"
        case .noneAccepted(let tried): "its driver took none of \(tried) settings that it offers: see `dmesg`"
        }
    }

    private static func list(_ formats: [PixelFormat]) -> String {
        formats.prefix(12).map(\.description).joined(separator: ", ") + (formats.count > 12 ? " and others" : "")
    }
}
