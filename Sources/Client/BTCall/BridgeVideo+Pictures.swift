import BTCallAPI
import DBus

// The pictures of a call: what the far end gets, and whether it sends one.
extension BridgeVideo {
    /// What is seen of a call.
    public struct Picture: Hashable, Sendable {
        /// What the far end gets.
        public enum Local: Hashable, Sendable {
            /// No call with video.
            case none
            case camera
            /// A still picture with the name of the box; never the camera's last one.
            case card(CardCause)
        }

        public let local: Local
        /// The call with video; nil without one.
        public let call: Call.ID?
        /// Pixels of the local picture; they stay the same during a call. Nil while there is none.
        public let width: Int?
        public let height: Int?
        public let framesPerSecond: Double?
        /// Whether a picture of the far end arrives.
        public let isRemote: Bool
        /// Whether the background is replaced: ``BridgeVideo/setBackground(_:)``.
        public let isBackgrounded: Bool

        init(_ picture: PictureDescription) {
            local =
                switch picture.local {
                case .none: .none
                case .camera: .camera
                case .card: .card(CardCause(picture.cause))
                }
            call = picture.call.map { Call.ID(path: $0) }
            width = picture.width
            height = picture.height
            framesPerSecond = picture.framesPerSecond
            isRemote = picture.isRemote
            isBackgrounded = picture.isBackgrounded
        }
    }

    /// Why the far end gets a card instead of the camera.
    public enum CardCause: String, Hashable, Sendable, CaseIterable {
        /// The call is held.
        case held
        /// ``OngoingCall/enableLocalVideo(_:)`` has switched it off, or the call's direction does not send.
        case disabled
        /// The configuration, or the privacy switch of the microphone, denies the camera.
        case privacy
        /// The chosen camera is absent.
        case noCamera
        /// Another program captures with it.
        case inUse
        /// It does not deliver.
        case failed

        init(_ cause: PictureDescription.Cause?) {
            switch cause {
            case .held: self = .held
            case .disabled: self = .disabled
            case .privacy: self = .privacy
            case .noCamera: self = .noCamera
            case .inUse: self = .inUse
            case .failed, nil: self = .failed
            }
        }
    }

    /// The V4L2 node that gives the local picture to programs, as from a camera: `[output] device` of the configuration.
    public struct OutputDevice: Hashable, Sendable {
        /// For example `/dev/video-btcall`.
        public let path: String
        public let isRunning: Bool
        /// Why it fails, in words; nil while it does not.
        public let problem: String?

        init(_ output: OutputDescription) {
            path = output.path
            isRunning = output.isRunning
            problem = output.problem
        }
    }

    /// The pictures, and where they go.
    public struct PictureStatus: Hashable, Sendable {
        public let picture: Picture
        public let views: Views
        /// `off`, `blur` or the path of a picture.
        public let background: String
        /// Nil if none is configured.
        public let output: OutputDevice?
        /// Number of open taps and offers, of all programs.
        public let taps: Int
    }

    public func pictureStatus() async throws(BridgeError) -> PictureStatus {
        let fields = try await properties()
        return try decoding { () throws(APIError) in
            typealias Name = BTCallName.Video
            let output = try OutputDescription(try fields.dictionary(Name.outputDevice))
            return PictureStatus(
                picture: try Self.picture(fields), views: try Self.views(fields),
                background: try fields.string(Name.background), output: output.map { OutputDevice($0) },
                taps: try fields.integer(Name.taps))
        }
    }

    public func picture() async throws(BridgeError) -> Picture {
        let fields = try await properties()
        return try decoding { () throws(APIError) in try Self.picture(fields) }
    }

    /// ``picture()`` now, then each change; nil without btcall-video. Otherwise as ``CallBridge/audioSessionActivated()``.
    public func pictures() async -> AsyncStream<Picture?> {
        let video = self
        return await connection.values(of: BTCallName.videoBus, at: BTCallPath.video, absent: .some(nil)) {
            _ throws(BridgeError) in
            .value(try await video.picture())
        } change: { signal in
            guard signal.member == "PropertiesChanged", signal.arguments.count > 1,
                let picture = signal.arguments[1][BTCallName.Video.picture]
            else { return .same }
            do throws(APIError) {
                return .value(Picture(try PictureDescription(Fields(picture, of: BTCallName.Video.picture))))
            } catch {
                return .unknown
            }
        }
    }

    /// Replaces what is behind a person in front of a camera that does not move: `off`, `blur`, or the absolute path of a PNG or
    /// JPEG file that btcall-video may read. Kept over restarts.
    ///
    /// - Throws: `.invalidArgument` for another text and for a file that cannot be read, `.notSupported` without the package
    ///   `gstreamer1.0-opencv`.
    public func setBackground(_ background: String) async throws(BridgeError) {
        try await connection.requestVideo(
            BTCallName.Interface.video, BTCallName.Video.setBackground, [.string(background)])
    }

    private static func picture(_ fields: Fields) throws(APIError) -> Picture {
        Picture(try PictureDescription(try fields.dictionary(BTCallName.Video.picture)))
    }
}
