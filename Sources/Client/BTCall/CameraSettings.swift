import BTCallAPI

/// Camera settings of a video call.
public struct CameraSettings: Hashable, Sendable {
    /// `front`, `back`, or the application's name for it: 1 to 64 bytes.
    public var camera: String
    /// Pixels, 1…16384.
    public var width: Int
    public var height: Int
    /// 1…1000.
    public var framesPerSecond: Int

    public init(camera: String, width: Int, height: Int, framesPerSecond: Int) {
        self.camera = camera
        self.width = width
        self.height = height
        self.framesPerSecond = framesPerSecond
    }

    init(_ settings: CameraDescription) {
        self.init(
            camera: settings.camera, width: settings.width, height: settings.height,
            framesPerSecond: settings.framesPerSecond)
    }

    var description: CameraDescription {
        CameraDescription(camera: camera, width: width, height: height, framesPerSecond: framesPerSecond)
    }
}
