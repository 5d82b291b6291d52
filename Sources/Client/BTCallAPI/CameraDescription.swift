package import DBus

/// Camera settings of a video call: options of `Call1.ReportCamera`, argument of `Calls1.CameraSettingsChanged`.
package struct CameraDescription: Hashable, Sendable {
    /// `front`, `back`, or the application's name for it.
    package var camera: String
    /// Pixels, 1…16384.
    package var width: Int
    package var height: Int
    /// 1…1000.
    package var framesPerSecond: Int

    package init(camera: String, width: Int, height: Int, framesPerSecond: Int) {
        self.camera = camera
        self.width = width
        self.height = height
        self.framesPerSecond = framesPerSecond
    }

    /// - Throws: `.invalidArgument` for an entry that is missing or out of range, naming the accepted range.
    package init(_ fields: Fields) throws(APIError) {
        camera = try fields.string("camera")
        width = try Self.number("width", 1...16384, fields)
        height = try Self.number("height", 1...16384, fields)
        framesPerSecond = try Self.number("framesPerSecond", 1...1000, fields)
        guard (1...64).contains(camera.utf8.count) else {
            throw APIError(
                .invalidArgument,
                "camera in \(fields.subject) is not accepted; accepted: front, back or another name, "
                    + "of 64 bytes at most")
        }
    }

    private static func number(_ name: String, _ range: ClosedRange<Int>, _ fields: Fields) throws(APIError) -> Int {
        let number: Int = try fields.integer(name)
        guard range.contains(number) else {
            throw APIError(
                .invalidArgument,
                "\(name) in \(fields.subject) is \(number); accepted: \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    package var fields: [String: Value] {
        [
            "camera": .string(camera), "width": .uint32(UInt32(clamping: width)),
            "height": .uint32(UInt32(clamping: height)), "framesPerSecond": .uint32(UInt32(clamping: framesPerSecond)),
        ]
    }
}
