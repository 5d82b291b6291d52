package import VideoCapture

/// Size and rate of a picture, the same from its beginning to its end.
package struct PictureFormat: Hashable, Sendable, CustomStringConvertible {
    /// Pixels; the width is a multiple of 8, and the height of 2: rows of a plane then need no padding.
    package let width: Int
    package let height: Int
    /// Frames per second, in thousandths.
    package let rateThousandths: Int

    /// Pixels that a picture may have at most: those of 4K.
    static let most = (width: 4096, height: 2304)
    private static let least = 16
    private static let mostThousandths = 60_000

    /// The picture nearest to what a camera gives, of 16x16 to 4096x2304 pixels and up to 60 frames per second.
    ///
    /// - Parameter rate: nil: 30 frames per second.
    package init(_ size: FrameSize, _ rate: FrameRate?) { self.init(width: size.width, height: size.height, rate) }

    private init(width: Int, height: Int, _ rate: FrameRate?) {
        let width = min(max(width, Self.least), Self.most.width) / 8 * 8
        let height = min(max(height, Self.least), Self.most.height) / 2 * 2
        self.width = width
        self.height = height
        rateThousandths = min(rate?.thousandths ?? 30_000, Self.mostThousandths)
    }

    /// What a picture has whose camera is not known yet: the requested size, for `auto` 640x480.
    package init(requested request: CaptureRequest) {
        let rate = FrameRate(thousandths: request.framesPerSecond * 1000)
        switch request.resolution {
        case .automatic: self.init(width: 640, height: 480, rate)
        case .size(let size): self.init(size, rate)
        }
    }

    /// From one picture to the next.
    package var interval: Duration { .nanoseconds(1_000_000_000_000 / Int64(rateThousandths)) }
    package var framesPerSecond: Double { Double(rateThousandths) / 1000 }
    package var description: String {
        let rate = FrameRate(thousandths: rateThousandths)?.description ?? ""
        return "\(width)x\(height) at \(rate) frames per second"
    }
}

extension PictureFormat {
    /// Width and height exchanged.
    package var turned: PictureFormat {
        FrameSize(height, width).map { PictureFormat($0, FrameRate(thousandths: rateThousandths)) } ?? self
    }

    /// The first line of YUV4MPEG2, with the line feed.
    package var streamHeader: [UInt8] {
        Array("YUV4MPEG2 W\(width) H\(height) F\(rateThousandths):1000 Ip A1:1 C420jpeg\n".utf8)
    }
}

extension PictureFormat {
    /// A picture of somebody else, in the size that it has.
    package init(exactWidth width: Int, height: Int, rateThousandths: Int) {
        self.width = width
        self.height = height
        self.rateThousandths = max(1, rateThousandths)
    }
}
