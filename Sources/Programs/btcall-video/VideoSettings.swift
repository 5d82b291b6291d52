import ProgramSettings
import VideoCapture

/// Settings of `btcall-video` from its configuration file and its command line.
struct VideoSettings: FileSettings, Equatable {
    static let sections = ["video", "camera front", "camera back", "privacy", "log"]

    /// A key of the file, with its section.
    enum Key: String, Sendable, CaseIterable {
        case resolution = "video.resolution"
        case framesPerSecond = "video.framesPerSecond"
        case stateDirectory = "video.stateDirectory"
        case front = "camera front.device"
        case back = "camera back.device"
        case access = "privacy.camera"
        case logLevel = "log.level"

        var accepted: String {
            switch self {
            case .resolution: CaptureRequest.acceptedResolution
            case .framesPerSecond:
                "\(CaptureRequest.acceptedRates.lowerBound) to \(CaptureRequest.acceptedRates.upperBound)"
            case .stateDirectory: "the absolute path of a folder"
            case .front, .back:
                "the name of a camera as `btcall video cameras` shows it, or the path of its device node"
            case .access: "allow or deny"
            case .logLevel: "one of " + LogLevel.allCases.map(\.rawValue).joined(separator: ", ")
            }
        }
    }

    /// The least severe messages that are logged.
    enum LogLevel: String, Sendable, CaseIterable {
        case trace, debug, info, notice, warning, error
    }

    var request = CaptureRequest()
    var names = CameraNames()
    var isAllowed = true
    var stateDirectory = "/var/lib/btcall-video"
    var logLevel = LogLevel.info

    /// Maximum size of the configuration file in bytes.
    static let mostBytes = 64 * 1024

    init() {}

    /// - Throws: for a value that the key does not accept.
    mutating func set(_ key: Key, _ value: String) throws(SettingsError) {
        let refused = SettingsError("\(key.rawValue): '\(value)' is not accepted; it is \(key.accepted)")
        switch key {
        case .resolution:
            guard let resolution = CaptureRequest.Resolution(value) else { throw refused }
            request = CaptureRequest(resolution, framesPerSecond: request.framesPerSecond)
        case .framesPerSecond:
            guard let rate = Int(value), CaptureRequest.acceptedRates.contains(rate) else { throw refused }
            request = CaptureRequest(request.resolution, framesPerSecond: rate)
        case .stateDirectory:
            guard value.hasPrefix("/"), value.utf8.count < 1024 else { throw refused }
            stateDirectory = value
        case .front:
            guard CameraNames.isName(value) else { throw refused }
            names.front = value
        case .back:
            guard CameraNames.isName(value) else { throw refused }
            names.back = value
        case .access:
            guard ["allow", "deny"].contains(value) else { throw refused }
            isAllowed = value == "allow"
        case .logLevel:
            guard let level = LogLevel(rawValue: value) else { throw refused }
            logLevel = level
        }
    }
}

// MARK: The file

extension VideoSettings {
    /// - Throws: for the first invalid line, and for a repeated key.
    init(reading bytes: [UInt8], file: String) throws(SettingsError) {
        self.init()
        try read(bytes, file: file)
    }
}
