import CVideo
package import ControlLoop
import Glibc
package import VideoCapture

/// A camera of the kernel (V4L2), open until `close()`.
@ControlPlane
package final class V4L2Camera: CameraDriver {
    private var descriptor: Int32
    /// The buffer type: with one or several planes.
    private let type: UInt32

    /// - Throws: also `ENOTTY` for a node that is no camera.
    package init(_ path: String) throws(SystemError) {
        descriptor = try SystemError.check("open") { btcall_video_open(path) }
        var node = btcall_video_node()
        guard btcall_video_query(descriptor, &node) == 0 else {
            let error = SystemError("VIDIOC_QUERYCAP")
            Glibc.close(descriptor)
            throw error
        }
        type = node.type
        guard type != 0 else {
            Glibc.close(descriptor)
            throw SystemError(call: "VIDIOC_QUERYCAP", code: ENOTTY)
        }
    }

    isolated deinit { close() }

    package func close() {
        guard descriptor >= 0 else { return }
        Glibc.close(descriptor)
        descriptor = -1
    }

    package func format(_ index: Int) -> PixelFormat? {
        var code: UInt32 = 0
        guard btcall_video_format(descriptor, type, UInt32(clamping: index), &code) == 0 else { return nil }
        return PixelFormat(code: code)
    }

    package func size(_ format: PixelFormat, _ index: Int) -> SizeAnswer? {
        var answer = btcall_video_size()
        guard btcall_video_frame_size(descriptor, format.code, UInt32(clamping: index), &answer) == 0 else {
            return nil
        }
        let width = SizeAnswer.Axis(answer.least_width, answer.most_width, step: answer.step_width)
        let height = SizeAnswer.Axis(answer.least_height, answer.most_height, step: answer.step_height)
        switch Int(answer.kind) {
        case BTCALL_VIDEO_DISCRETE:
            return .discrete(width: answer.least_width, height: answer.least_height)
        case BTCALL_VIDEO_CONTINUOUS: return .continuous(width: width, height: height)
        default: return .stepwise(width: width, height: height)
        }
    }

    package func interval(_ question: CaptureQuestion, _ index: Int) -> IntervalAnswer? {
        var answer = btcall_video_interval()
        let (width, height) = (UInt32(clamping: question.size.width), UInt32(clamping: question.size.height))
        guard
            btcall_video_frame_interval(
                descriptor, question.format.code, width, height, UInt32(clamping: index), &answer) == 0
        else { return nil }
        let (least, most) = (Self.interval(answer.least), Self.interval(answer.most))
        switch Int(answer.kind) {
        case BTCALL_VIDEO_DISCRETE: return .discrete(least)
        case BTCALL_VIDEO_CONTINUOUS: return .continuous(least: least, most: most)
        default: return .stepwise(least: least, most: most, step: Self.interval(answer.step))
        }
    }

    private static func interval(_ pair: (UInt32, UInt32)) -> FrameInterval { FrameInterval(pair.0, pair.1) }

    package func set(_ choice: CaptureChoice) throws(SystemError) -> CaptureNegotiation.Answer {
        var (format, width, height) = (
            choice.format.code, UInt32(clamping: choice.size.width), UInt32(clamping: choice.size.height)
        )
        guard btcall_video_set_format(descriptor, type, &format, &width, &height) == 0 else {
            let error = SystemError("VIDIOC_S_FMT")
            if error.code == EINVAL || error.code == ERANGE { return .refused }
            throw error
        }
        var (numerator, denominator) = (choice.interval?.numerator ?? 0, choice.interval?.denominator ?? 0)
        // A driver without rates, or one that does not accept this one: its rate is unknown.
        let isKnown = btcall_video_set_interval(descriptor, type, &numerator, &denominator) == 0
        return .set(
            format: PixelFormat(code: format), width: width, height: height,
            interval: isKnown ? FrameInterval(numerator, denominator) : nil)
    }

    package var isBusy: Bool { btcall_video_is_busy(descriptor, type) == 1 }

    /// The names of a node; nil for one that is no camera.
    static func names(of path: String) throws(SystemError) -> (card: String, bus: String)? {
        let descriptor = try SystemError.check("open") { btcall_video_open(path) }
        defer { Glibc.close(descriptor) }
        var node = btcall_video_node()
        guard btcall_video_query(descriptor, &node) == 0, node.type != 0 else { return nil }
        return (text(of: &node.card), text(of: &node.bus))
    }

    private static func text<Bytes>(of bytes: inout Bytes) -> String {
        withUnsafeBytes(of: &bytes) { PrintableText.line(bytes: $0.prefix { $0 != 0 }) }
    }
}
