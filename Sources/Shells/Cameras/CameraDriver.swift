package import ControlLoop
package import VideoCapture

/// An open camera: what its driver answers.
@ControlPlane
package protocol CameraDriver: AnyObject {
    /// The pixel format of a number from 0; nil after the last.
    func format(_ index: Int) -> PixelFormat?
    /// One answer about the sizes of a format; nil after the last.
    func size(_ format: PixelFormat, _ index: Int) -> SizeAnswer?
    /// One answer about the intervals of a format and size; nil after the last.
    func interval(_ question: CaptureQuestion, _ index: Int) -> IntervalAnswer?
    /// Sets format, size and interval.
    ///
    /// - Throws: when the driver cannot be asked at all: another program captures, the camera has been pulled. A setting
    ///   that it does not accept is an answer.
    func set(_ choice: CaptureChoice) throws(SystemError) -> CaptureNegotiation.Answer
    /// Whether another program captures.
    var isBusy: Bool { get }
    func close()
}

/// The machine's cameras.
@ControlPlane
package protocol CameraSystem: AnyObject {
    /// Called when a camera may have come, gone or changed its permissions.
    var onChange: (@ControlPlane () -> Void)? { get set }
    /// The present cameras, in the order of their nodes.
    func cameras() -> [Camera]
    func open(_ camera: Camera) throws(SystemError) -> any CameraDriver
    /// Names of programs that have the camera open, as far as this program may see them.
    func users(of camera: Camera) -> [String]
    /// Begins to call ``onChange``.
    func watch() throws(SystemError)
    func stop()
}

/// A camera that exists now.
package struct Camera: Hashable, Sendable {
    /// Name by the socket or the bus it is at, which survives restarts: `platform-vivid.0-video-index0`.
    package let id: String
    /// `/dev/video0`, by the order in which drivers came.
    package let path: String
    /// The driver's name for it.
    package let name: String
    /// Whether this program may open it.
    package let isPermitted: Bool
    /// Number of the device node, another one each time that the camera comes.
    package let node: UInt64

    package init(id: String, path: String, name: String, isPermitted: Bool = true, node: UInt64 = 0) {
        self.id = id
        self.path = path
        self.name = name
        self.isPermitted = isPermitted
        self.node = node
    }
}

/// Why a camera was not set.
package enum CameraError: Error, Hashable, Sendable {
    /// No camera of this name at present. Expected: cameras come and go.
    case missing(String)
    /// This program may not open it.
    case denied(path: String)
    /// Another program captures; its name where this program may see it.
    case busy(by: [String])
    case refused(CaptureRefusal)
    case failed(String)
}

extension CameraError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .missing(let name): "there is no camera \(name)"
        case .denied(let path): "\(path) may not be opened: add the program's user to group video"
        case .busy(let names):
            names.isEmpty ? "in use by another program" : "in use by \(names.joined(separator: ", "))"
        case .refused(let refusal): "\(refusal)"
        case .failed(let text): text
        }
    }
}
