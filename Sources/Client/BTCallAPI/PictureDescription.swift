package import DBus

/// What is seen of a call: `Video1.Picture`.
package struct PictureDescription: Hashable, Sendable {
    /// The picture that the far end gets.
    package enum Local: String, Hashable, Sendable, CaseIterable {
        case none, camera, card
    }

    /// Why the far end gets a card instead of the camera.
    package enum Cause: String, Hashable, Sendable, CaseIterable {
        /// The call is held.
        case held
        /// `Call1.LocalVideoEnabled` is off, or the call's direction does not send.
        case disabled
        /// The configuration, or the privacy switch of the microphone, denies the camera.
        case privacy
        /// The chosen camera is absent.
        case noCamera
        /// Another program captures with it.
        case inUse
        /// It, or its pipeline, fails.
        case failed
    }

    package var local: Local
    /// Nil unless ``local`` is `card`.
    package var cause: Cause?
    /// Object path of the picture call; nil without one.
    package var call: String?
    /// Pixels; nil while there is no local picture.
    package var width: Int?
    package var height: Int?
    package var framesPerSecond: Double?
    /// Whether a picture of the far end arrives.
    package var isRemote: Bool
    /// Whether the virtual background is applied.
    package var isBackgrounded: Bool

    package init(
        local: Local = .none, cause: Cause? = nil, call: String? = nil, width: Int? = nil, height: Int? = nil,
        framesPerSecond: Double? = nil, isRemote: Bool = false, isBackgrounded: Bool = false
    ) {
        self.local = local
        self.cause = cause
        self.call = call
        self.width = width
        self.height = height
        self.framesPerSecond = framesPerSecond
        self.isRemote = isRemote
        self.isBackgrounded = isBackgrounded
    }

    package init(_ fields: Fields) throws(APIError) {
        let local = try fields.word("local", of: Local.self)
        // A newer btcall-video may have another cause; the picture is a card nevertheless.
        let cause = try fields.optionalString("cause").flatMap { Cause(rawValue: $0) }
        self.init(
            local: local, cause: local == .card ? cause ?? .failed : nil,
            call: try fields.optionalString("call")?.nonEmpty,
            width: try fields.optionalInteger("width"), height: try fields.optionalInteger("height"),
            framesPerSecond: try fields.optionalDouble("framesPerSecond"),
            isRemote: try fields.optionalBool("remote") ?? false,
            isBackgrounded: try fields.optionalBool("backgrounded") ?? false)
    }

    package var fields: [String: Value] {
        [String: Value](present: [
            "local": .string(local.rawValue), "cause": cause.map { .string($0.rawValue) },
            "call": call.map { .objectPath($0) }, "width": width.map { .uint32(UInt32(clamping: $0)) },
            "height": height.map { .uint32(UInt32(clamping: $0)) },
            "framesPerSecond": framesPerSecond.map { .double($0) }, "remote": .bool(isRemote),
            "backgrounded": .bool(isBackgrounded),
        ])
    }
}

/// The V4L2 output node that carries the local picture to programs: `Video1.OutputDevice`.
package struct OutputDescription: Hashable, Sendable {
    /// `/dev/video-btcall`.
    package var path: String
    /// Whether frames are written to it.
    package var isRunning: Bool
    /// Why it fails, for people; nil while it does not.
    package var problem: String?

    package init(path: String, isRunning: Bool = false, problem: String? = nil) {
        self.path = path
        self.isRunning = isRunning
        self.problem = problem
    }

    /// - Returns: nil for an empty dictionary: none is configured.
    package init?(_ fields: Fields) throws(APIError) {
        guard let path = try fields.optionalString("path") else { return nil }
        self.init(
            path: path, isRunning: try fields.bool("running"), problem: try fields.optionalString("problem")?.nonEmpty)
    }

    package var fields: [String: Value] {
        [String: Value](present: [
            "path": .string(path), "running": .bool(isRunning), "problem": .text(problem),
        ])
    }
}
