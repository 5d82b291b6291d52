import BTCallAPI
import DBus

extension CallBridge {
    /// The cameras and pictures of btcall-video, a program of its own.
    public var video: BridgeVideo { BridgeVideo(connection: connection) }
}

/// Choice of the camera, and the pictures of calls with video, by btcall-video.
///
/// btcall-video finds cameras, sets the chosen one, and says what was reached. During a call with video it captures, shows both
/// pictures (``setPreviewView(_:)``, ``setRemoteView(_:)``) and gives them to programs. It neither codes nor sends a picture:
/// that is the application's. It finds no faces. Every request fails with ``BridgeError/Code/notRunning`` without btcall-video.
public struct BridgeVideo: Sendable {
    let connection: BridgeConnection

    /// A camera that exists now.
    public struct Camera: Hashable, Sendable {
        /// Name by the socket or the bus it is at, which survives restarts.
        public let id: String
        /// The driver's name for it.
        public let name: String
        /// The device node, for example `/dev/video0`.
        public let path: String
        /// The words of the configuration that mean it: `front`, `back`.
        public let aliases: [String]
        /// Whether btcall-video may open it.
        public let isPermitted: Bool

        init(_ camera: VideoCameraDescription) {
            id = camera.id
            name = camera.name
            path = camera.path
            aliases = camera.aliases
            isPermitted = camera.isPermitted
        }
    }

    /// What the chosen camera was set to, by its driver's own answer.
    public struct Capture: Hashable, Sendable {
        /// The word by which it was chosen: `front`, `back` or its `id`.
        public let camera: String
        public let id: String
        /// Pixels.
        public let width: Int
        public let height: Int
        /// Nil if the driver does not say it.
        public let framesPerSecond: Double?
        /// Pixel format in four characters, for example `MJPG`.
        public let format: String

        init(_ capture: CaptureDescription) {
            camera = capture.camera
            id = capture.id
            width = capture.width
            height = capture.height
            framesPerSecond = capture.framesPerSecond
            format = capture.format
        }
    }

    /// The cameras, what is chosen and requested, and what was reached.
    public struct Status: Hashable, Sendable {
        public let cameras: [Camera]
        /// `front`, `back` or the `id` of a camera, which may be absent now.
        public let camera: String
        /// `auto`, or a size such as `640x480`.
        public let preferredCaptureResolution: String
        /// Frames per second.
        public let preferredCaptureFrameRate: Int
        /// Nil while the chosen camera is not set.
        public let capture: Capture?
        /// Why it is not set, in words; nil while it is.
        public let problem: String?
    }

    /// Whether a microphone or a camera may be used.
    public enum Verdict: Hashable, Sendable {
        case allowed
        /// - Parameter reason: for people.
        case denied(Cause, reason: String)

        init(_ verdict: AccessDescription.Verdict) {
            switch verdict {
            case .allowed: self = .allowed
            case .denied(let cause, let reason):
                let cause: Cause =
                    switch cause {
                    case .noDevice: .noDevice
                    case .noPermission: .noPermission
                    case .policy: .policy
                    case .inUse: .inUse
                    case .unavailable: .unavailable
                    }
                self = .denied(cause, reason: reason)
            }
        }
    }

    /// Why a device may not be used.
    public enum Cause: String, Hashable, Sendable, CaseIterable {
        /// None of this kind exists at present.
        case noDevice
        /// btcall-video may not open it.
        case noPermission
        /// The configuration denies it.
        case policy
        /// Another program uses it.
        case inUse
        /// It cannot be used, or the program to ask does not run.
        case unavailable
    }

    /// Verdicts about the devices that were asked for; nil for the others.
    public struct Access: Hashable, Sendable {
        public let microphone: Verdict?
        public let camera: Verdict?
    }

    public func status() async throws(BridgeError) -> Status {
        let fields = try await properties()
        return try decoding { () throws(APIError) in
            typealias Name = BTCallName.Video
            var cameras: [Camera] = []
            for camera in try fields.dictionaries(Name.cameras) {
                cameras.append(Camera(try VideoCameraDescription(camera)))
            }
            let capture = try CaptureDescription(try fields.dictionary(Name.cameraSettings))
            return Status(
                cameras: cameras, camera: try fields.string(Name.camera),
                preferredCaptureResolution: try fields.string(Name.resolution),
                preferredCaptureFrameRate: try fields.integer(Name.frameRate), capture: capture.map { Capture($0) },
                problem: try fields.string(Name.problem).nonEmpty)
        }
    }

    /// ``Status/capture`` now, then each change; nil while the chosen camera is not set, and without btcall-video. Otherwise as
    /// ``CallBridge/audioSessionActivated()``.
    public func captures() async -> AsyncStream<Capture?> {
        let video = self
        return await connection.values(of: BTCallName.videoBus, at: BTCallPath.video, absent: .some(nil)) {
            _ throws(BridgeError) in
            .value(try await video.status().capture)
        } change: { signal in
            guard signal.member == BTCallName.Video.cameraSettingsChanged, let settings = signal.arguments.first else {
                return .same
            }
            do throws(APIError) {
                let capture = try CaptureDescription(Fields(settings, of: BTCallName.Video.cameraSettings))
                return .value(capture.map { Capture($0) })
            } catch {
                return .unknown
            }
        }
    }

    /// Chooses a camera: `front`, `back` or the `id` of a present one. Kept over restarts.
    ///
    /// - Throws: `.invalidArgument` for any other word, with the present cameras.
    public func setCamera(_ camera: String) async throws(BridgeError) {
        try await connection.requestVideo(
            BTCallName.Interface.video, BTCallName.Video.setCamera, [.string(camera)])
    }

    /// Requests a picture: `auto` or a size such as `640x480`, and frames per second, 1…1000. Kept over restarts. The driver
    /// may not reach it: ``status()`` has what was reached.
    ///
    /// - Throws: `.invalidArgument` for a text or a number that is not accepted.
    public func setCapture(resolution: String, framesPerSecond: Int) async throws(BridgeError) {
        try await connection.requestVideo(
            BTCallName.Interface.video, BTCallName.Video.setCapture,
            [.string(resolution), .uint32(UInt32(clamping: framesPerSecond))])
    }

    /// Forgets what ``setCamera(_:)``, ``setCapture(resolution:framesPerSecond:)`` and ``setBackground(_:)`` have set: the
    /// configuration counts.
    public func reset() async throws(BridgeError) {
        try await connection.requestVideo(BTCallName.Interface.video, BTCallName.Video.reset)
    }

    /// Asks whether the microphone and the chosen camera may be used now. The camera is opened for a moment.
    ///
    /// A call goes on with audio when the camera is denied: what to do with the verdict is up to the application.
    ///
    /// - Parameters:
    ///   - microphone: asks for the microphone, which is btcalld's.
    ///   - camera: asks for the chosen camera.
    public func requestMicrophoneAndCameraPermission(
        microphone: Bool, camera: Bool
    ) async throws(BridgeError) -> Access {
        let reply = try await connection.requestVideo(
            BTCallName.Interface.video, BTCallName.Video.requestAccess, [.bool(microphone), .bool(camera)])
        let fields = try await connection.fields(reply.first, of: BTCallName.Video.requestAccess)
        let access = try decoding { () throws(APIError) in try AccessDescription(fields) }
        return Access(
            microphone: access.microphone.map { Verdict($0) }, camera: access.camera.map { Verdict($0) })
    }
}

extension BridgeConnection {
    /// Calls a method of btcall-video's object.
    @discardableResult
    func requestVideo(
        _ interface: String, _ member: String, _ arguments: [Value] = []
    ) async throws(BridgeError) -> [Value] {
        do {
            return try await connection.call(
                BTCallName.videoBus, BTCallPath.video, interface, member, arguments)
        } catch {
            throw BridgeError(ofVideo: error, on: bus)
        }
    }
}

extension BridgeError {
    /// Puts an error of btcall-video into words.
    init(ofVideo error: BusError, on bus: BridgeBus) {
        guard Self.isAbsence(error) else {
            self.init(error, on: bus)
            return
        }
        let remedy =
            switch bus {
            case .system: "install the package btcall-video, or start it with `systemctl start btcall-video`"
            case .session, .address: "start it with `btcall-video --bus \(bus)`"
            }
        self.init(.notRunning, "btcall-video is not running on \(bus.phrase): \(remedy)", name: error.name)
    }
}
