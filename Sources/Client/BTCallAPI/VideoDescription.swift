package import DBus

/// A camera of the machine, an element of `Video1.Cameras`.
package struct VideoCameraDescription: Hashable, Sendable {
    /// Name that survives restarts.
    package var id: String
    /// The driver's name for it.
    package var name: String
    /// `/dev/video0`.
    package var path: String
    /// `front`, `back`.
    package var aliases: [String]
    /// Whether btcall-video may open it.
    package var isPermitted: Bool

    package init(id: String, name: String, path: String, aliases: [String] = [], isPermitted: Bool = true) {
        self.id = id
        self.name = name
        self.path = path
        self.aliases = aliases
        self.isPermitted = isPermitted
    }

    package init(_ fields: Fields) throws(APIError) {
        self.init(
            id: try fields.string("id"), name: try fields.string("name"), path: try fields.string("path"),
            aliases: try fields.strings("aliases"), isPermitted: try fields.bool("permitted"))
    }

    package var fields: [String: Value] {
        [
            "id": .string(id), "name": .string(name), "path": .string(path), "aliases": .strings(aliases),
            "permitted": .bool(isPermitted),
        ]
    }
}

/// What the chosen camera was set to: `Video1.CameraSettings`, argument of `Video1.CameraSettingsChanged`.
package struct CaptureDescription: Hashable, Sendable {
    /// The word by which it was chosen.
    package var camera: String
    package var id: String
    package var width: Int
    package var height: Int
    /// Nil if the driver does not say it.
    package var framesPerSecond: Double?
    /// Four characters (`linux/videodev2.h`).
    package var format: String

    package init(camera: String, id: String, width: Int, height: Int, framesPerSecond: Double?, format: String) {
        self.camera = camera
        self.id = id
        self.width = width
        self.height = height
        self.framesPerSecond = framesPerSecond
        self.format = format
    }

    /// - Returns: nil for an empty dictionary: no camera is set.
    package init?(_ fields: Fields) throws(APIError) {
        guard let camera = try fields.optionalString("camera") else { return nil }
        self.init(
            camera: camera, id: try fields.string("id"), width: try fields.integer("width"),
            height: try fields.integer("height"), framesPerSecond: try fields.optionalDouble("framesPerSecond"),
            format: try fields.string("format"))
    }

    package var fields: [String: Value] {
        [String: Value](present: [
            "camera": .string(camera), "id": .string(id), "width": .uint32(UInt32(clamping: width)),
            "height": .uint32(UInt32(clamping: height)), "framesPerSecond": framesPerSecond.map { .double($0) },
            "format": .string(format),
        ])
    }
}

/// Whether a microphone and a camera may be used: the result of `Video1.RequestAccess`.
package struct AccessDescription: Hashable, Sendable {
    /// Why a device may not be used.
    package enum Cause: String, Hashable, Sendable, CaseIterable {
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

    package enum Verdict: Hashable, Sendable {
        case allowed
        /// - Parameter reason: for people.
        case denied(Cause, reason: String)
    }

    /// Nil: not asked for.
    package var microphone: Verdict?
    package var camera: Verdict?

    package init(microphone: Verdict? = nil, camera: Verdict? = nil) {
        self.microphone = microphone
        self.camera = camera
    }

    package init(_ fields: Fields) throws(APIError) {
        self.init(
            microphone: try Self.verdict("microphone", fields), camera: try Self.verdict("camera", fields))
    }

    package var fields: [String: Value] {
        Self.fields("microphone", microphone).merging(Self.fields("camera", camera)) { first, _ in first }
    }

    private static func verdict(_ name: String, _ fields: Fields) throws(APIError) -> Verdict? {
        guard let isAllowed = try fields.optionalBool(name) else { return nil }
        if isAllowed { return .allowed }
        // A newer btcall-video may have another cause: its reason is kept.
        let cause = try fields.optionalString(name + "Cause").flatMap { Cause(rawValue: $0) } ?? .unavailable
        return .denied(cause, reason: try fields.string(name + "Reason"))
    }

    private static func fields(_ name: String, _ verdict: Verdict?) -> [String: Value] {
        switch verdict {
        case nil: [:]
        case .allowed: [name: .bool(true)]
        case .denied(let cause, let reason):
            [name: .bool(false), name + "Cause": .string(cause.rawValue), name + "Reason": .string(reason)]
        }
    }
}
