import FrameRings

/// One frame of a call's picture, copied.
public struct VideoFrame: Sendable {
    /// Pixels.
    public let width: Int
    public let height: Int
    /// Number of the frame since its picture began, from 1; a slow reader misses some.
    public let number: UInt64
    /// When it was taken, in nanoseconds of the monotonic clock (`CLOCK_MONOTONIC`).
    public let nanoseconds: UInt64
    /// Whether it is the card that the far end gets instead of the camera.
    public let isCard: Bool
    /// I420 without padding: a byte of luma for each pixel, row by row; then blue and then red chroma, each with half the
    /// width and half the height, rounded up.
    public let bytes: [UInt8]

    init(_ frame: Frame, _ layout: FrameLayout) {
        width = layout.width
        height = layout.height
        number = frame.head.number
        nanoseconds = frame.head.nanoseconds
        isCard = frame.head.isCard
        bytes = frame.bytes
    }
}
