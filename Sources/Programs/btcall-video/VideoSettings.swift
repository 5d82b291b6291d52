import VideoCapture

/// Settings of `btcall-video` from its configuration file and its command line.
struct VideoSettings: Equatable, Sendable {
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
    mutating func set(_ key: Key, _ value: String) throws(VideoSettingsError) {
        let refused = VideoSettingsError("\(key.rawValue): '\(value)' is not accepted; it is \(key.accepted)")
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

/// Error in a configuration file or a command line, and what is accepted.
struct VideoSettingsError: Error, Hashable, Sendable, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

// MARK: The file

extension VideoSettings {
    /// Reads a configuration file: sections in brackets, lines `key = value`, and comments that begin with # or ;.
    ///
    /// - Parameters:
    ///   - bytes: UTF-8.
    ///   - file: its name, for messages.
    /// - Throws: for the first invalid line, and for a repeated key.
    init(reading bytes: [UInt8], file: String) throws(VideoSettingsError) {
        self.init()
        var section = ""
        var lines: [Key: Int] = [:]
        for (index, line) in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
            do throws(VideoSettingsError) {
                try read(Self.trimmed(line), at: index + 1, &section, &lines)
            } catch {
                throw VideoSettingsError("\(file):\(index + 1): \(error)")
            }
        }
    }

    private mutating func read(
        _ line: ArraySlice<UInt8>, at number: Int, _ section: inout String, _ lines: inout [Key: Int]
    ) throws(VideoSettingsError) {
        guard let first = line.first, first != UInt8(ascii: "#"), first != UInt8(ascii: ";") else { return }
        guard let text = String(validating: line, as: UTF8.self), !line.contains(0) else {
            throw VideoSettingsError("the line is not UTF-8; accepted: key = value")
        }
        if first == UInt8(ascii: "[") {
            section = String(text.dropFirst().prefix { $0 != "]" })
            guard Self.sections.contains(section), text == "[\(section)]" else {
                throw VideoSettingsError("\(text) is no section; accepted: \(Self.sections.joined(separator: ", "))")
            }
            return
        }
        guard let equals = line.firstIndex(of: UInt8(ascii: "=")) else {
            throw VideoSettingsError("'\(text)' is no entry; accepted: key = value")
        }
        let name = String(decoding: Self.trimmed(line[..<equals]), as: UTF8.self)
        guard let key = Key(rawValue: "\(section).\(name)") else {
            throw VideoSettingsError("[\(section)] \(name): there is no such key; accepted: \(Self.keys)")
        }
        if let earlier = lines[key] {
            throw VideoSettingsError("\(name) is given a second time; keep one of this and line \(earlier)")
        }
        lines[key] = number
        try set(key, String(decoding: Self.trimmed(line[(equals + 1)...]), as: UTF8.self))
    }

    private static let sections = ["video", "camera front", "camera back", "privacy", "log"]
    private static var keys: String {
        Key.allCases.map { key in
            let parts = key.rawValue.split(separator: ".")
            return "[\(parts[0])] \(parts[1])"
        }.joined(separator: ", ")
    }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let isSpace: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
        let rest = bytes.drop(while: isSpace)
        return rest[..<(rest.lastIndex { !isSpace($0) }.map { $0 + 1 } ?? rest.startIndex)]
    }
}
