import BTCallAPI
import ControlLoop
import DBus

// Where the pictures of a call are shown.
extension BridgeVideo {
    /// Where a picture is shown; by default nowhere.
    ///
    /// Both pictures on one display are picture in picture: the preview is above the remote picture.
    public struct View: Hashable, Sendable {
        public enum Sink: String, Hashable, Sendable, CaseIterable {
            /// Nothing is shown.
            case none
            /// A display without a desktop, by the kernel's mode setting.
            case kms
            /// A window of a Wayland compositor.
            case wayland
            /// A framebuffer.
            case fbdev
            /// A V4L2 output node.
            case device
            /// A descriptor of this program.
            case descriptor
        }

        public var sink: Sink
        /// `/dev/dri/card0`, `/dev/fb0`, `/dev/video9`, or the name of a Wayland display. Nil: the first; only `device` needs it.
        public var device: String?
        /// Nil: all of the display.
        public var rectangle: Rectangle?
        /// Degrees clockwise: 0, 90, 180 or 270.
        public var rotation: Int
        /// A pipe, socket or file that gets the picture as YUV4MPEG2, for the sink `descriptor`. The program may close its own
        /// when the request has returned.
        public var descriptor: Int32?

        public init(
            _ sink: Sink = .none, device: String? = nil, rectangle: Rectangle? = nil, rotation: Int = 0,
            descriptor: Int32? = nil
        ) {
            self.sink = sink
            self.device = device
            self.rectangle = rectangle
            self.rotation = rotation
            self.descriptor = descriptor
        }
    }

    /// A part of a display in pixels, from its upper left corner.
    public struct Rectangle: Hashable, Sendable {
        public var x: Int
        public var y: Int
        public var width: Int
        public var height: Int

        public init(x: Int, y: Int, width: Int, height: Int) {
            self.x = x
            self.y = y
            self.width = width
            self.height = height
        }
    }

    /// A view as it is.
    public struct ViewStatus: Hashable, Sendable {
        /// As requested, or as configured; without its descriptor.
        public let view: View
        /// Whether it shows a picture now.
        public let isRunning: Bool
        /// Why it does not, in words; nil while nothing is wrong.
        public let problem: String?
    }

    public struct Views: Hashable, Sendable {
        /// Of the picture that the far end gets.
        public let preview: ViewStatus
        public let remote: ViewStatus
    }

    public func views() async throws(BridgeError) -> Views {
        let fields = try await properties()
        return try decoding { () throws(APIError) in try Self.views(fields) }
    }

    /// The view of the picture that the far end gets.
    public func previewView() async throws(BridgeError) -> ViewStatus { try await views().preview }

    /// Shows the picture that the far end gets, until another request or the end of btcall-video; with a descriptor also until
    /// ``CallBridge/close()``. Something is shown only during a call with video.
    ///
    /// - Parameter view: nil returns to the configuration.
    /// - Throws: `.invalidArgument` for values that do not go together, `.notSupported` if a part of GStreamer is missing; the
    ///   message names its package.
    public func setPreviewView(_ view: View?) async throws(BridgeError) { try await set(.local, view) }

    /// The view of the picture of the far end.
    public func remoteView() async throws(BridgeError) -> ViewStatus { try await views().remote }

    /// Shows the picture of the far end; otherwise as ``setPreviewView(_:)``.
    public func setRemoteView(_ view: View?) async throws(BridgeError) { try await set(.remote, view) }

    private func set(_ side: PictureSideWord, _ view: View?) async throws(BridgeError) {
        let fields = try view?.request().fields ?? [:]
        try await connection.requestVideo(
            BTCallName.Interface.video, BTCallName.Video.setView, [.string(side.rawValue), .vardict(fields)])
    }

    static func views(_ fields: Fields) throws(APIError) -> Views {
        let views = try fields.dictionary(BTCallName.Video.views)
        return Views(
            preview: ViewStatus(try ViewDescription(try views.dictionary(PictureSideWord.local.rawValue))),
            remote: ViewStatus(try ViewDescription(try views.dictionary(PictureSideWord.remote.rawValue))))
    }

    /// All properties of btcall-video's object.
    func properties() async throws(BridgeError) -> Fields {
        let reply = try await connection.requestVideo(
            "org.freedesktop.DBus.Properties", "GetAll", [.string(BTCallName.Interface.video)])
        return try await connection.fields(reply.first, of: BTCallName.Interface.video)
    }
}

extension BridgeVideo.ViewStatus {
    init(_ status: ViewDescription) {
        view = BridgeVideo.View(
            BridgeVideo.View.Sink(status.view.sink), device: status.view.device,
            rectangle: status.view.rectangle.map {
                BridgeVideo.Rectangle(x: $0.x, y: $0.y, width: $0.width, height: $0.height)
            }, rotation: status.view.rotation)
        isRunning = status.isRunning
        problem = status.problem
    }
}

extension BridgeVideo.View {
    /// The view on the bus, with a descriptor of its own.
    fileprivate func request() throws(BridgeError) -> ViewRequest {
        var request = ViewRequest(
            sink.word, device: device,
            rectangle: rectangle.map { RectangleDescription(x: $0.x, y: $0.y, width: $0.width, height: $0.height) },
            rotation: rotation)
        if let descriptor {
            do throws(SystemError) {
                request.descriptor = try PassedDescriptor(duplicating: descriptor)
            } catch {
                throw BridgeError(.invalidArgument, "descriptor \(descriptor) cannot be passed: \(error)")
            }
        }
        return request
    }
}

extension BridgeVideo.View.Sink {
    fileprivate init(_ word: ViewRequest.Sink) {
        switch word {
        case .none: self = .none
        case .kms: self = .kms
        case .wayland: self = .wayland
        case .fbdev: self = .fbdev
        case .device: self = .device
        case .descriptor: self = .descriptor
        }
    }

    fileprivate var word: ViewRequest.Sink {
        switch self {
        case .none: .none
        case .kms: .kms
        case .wayland: .wayland
        case .fbdev: .fbdev
        case .device: .device
        case .descriptor: .descriptor
        }
    }
}
