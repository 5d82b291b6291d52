import ProgramSettings
import VideoCapture
import VideoPlan

/// Settings of `btcall-video` from its configuration file and its command line.
struct VideoSettings: Equatable {
    static let sections = [
        "video", "camera front", "camera back", "view local", "view remote", "remote", "output", "background",
        "privacy",
    ]
    static let formerKeys = ["log.level": Key.logLevel]

    /// A key of the file, with its section.
    enum Key: String, Sendable, CaseIterable {
        case resolution = "video.resolution"
        case framesPerSecond = "video.framesPerSecond"
        case name = "video.name"
        case stateDirectory = "video.stateDirectory"
        case logLevel = "video.logLevel"
        case front = "camera front.device"
        case back = "camera back.device"
        case localSink = "view local.sink"
        case localDevice = "view local.device"
        case localRectangle = "view local.rectangle"
        case localRotation = "view local.rotation"
        case remoteSink = "view remote.sink"
        case remoteDevice = "view remote.device"
        case remoteRectangle = "view remote.rectangle"
        case remoteRotation = "view remote.rotation"
        case source = "remote.source"
        case output = "output.device"
        case background = "background.picture"
        case access = "privacy.camera"

        var accepted: String {
            switch self {
            case .resolution: CaptureRequest.acceptedResolution
            case .framesPerSecond:
                "\(CaptureRequest.acceptedRates.lowerBound) to \(CaptureRequest.acceptedRates.upperBound)"
            case .name: "a text of 1 to \(VideoSettings.mostNameBytes) bytes without control characters"
            case .stateDirectory: "the absolute path of a folder"
            case .front, .back:
                "the name of a camera as `btcall video cameras` shows it, or the path of its device node"
            case .localSink, .remoteSink: ViewSink.configurable
            case .localDevice, .remoteDevice: "the path of a device below /dev, or the name of a Wayland display"
            case .localRectangle, .remoteRectangle: PictureRectangle.accepted
            case .localRotation, .remoteRotation: "0, 90, 180 or 270"
            case .source: "the path of a V4L2 capture node, for example /dev/video9"
            case .output: "the path of a V4L2 output node, for example /dev/video-btcall"
            case .background: BackgroundChoice.accepted
            case .access: "allow or deny"
            case .logLevel: LogLevel.accepted
            }
        }

        /// The side whose view it sets.
        fileprivate var side: PictureSide? {
            PictureSide.allCases.first { rawValue.hasPrefix("view \($0.rawValue).") }
        }
    }

    var request = CaptureRequest()
    /// Text of the card; nil: the machine's name.
    var boxName: String?
    var names = CameraNames()
    var views: [PictureSide: ViewSettings] = [.local: ViewSettings(), .remote: ViewSettings()]
    /// Node that a program writes the far end's picture to; nil: an application offers it.
    var remoteSource: String?
    /// Node that the local picture is written to; nil: none.
    var outputDevice: String?
    var background = BackgroundChoice.off
    var isAllowed = true
    var stateDirectory = "/var/lib/btcall-video"
    var logLevel = LogLevel.info

    /// The V4L2 nodes that pictures are written to or read from.
    var pictureNodes: [String] {
        let shown = views.values.compactMap { $0.sink == .device ? $0.device : nil }
        return [outputDevice, remoteSource].compactMap(\.self) + shown
    }

    private static let mostNameBytes = 64

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
        case .name:
            guard Self.isName(value) else { throw refused }
            boxName = value
        case .stateDirectory:
            guard value.hasPrefix("/"), value.utf8.count < 1024 else { throw refused }
            stateDirectory = value
        case .front, .back:
            guard CameraNames.isName(value) else { throw refused }
            if key == .front { names.front = value } else { names.back = value }
        case .localSink, .localDevice, .localRectangle, .localRotation, .remoteSink, .remoteDevice, .remoteRectangle,
            .remoteRotation:
            guard let side = key.side, setView(side, key, value) else { throw refused }
        case .source, .output:
            guard ViewSettings.isNode(value, "/dev/") else { throw refused }
            if key == .source { remoteSource = value } else { outputDevice = value }
        case .background:
            guard let choice = BackgroundChoice(value) else { throw refused }
            background = choice
        case .access:
            guard ["allow", "deny"].contains(value) else { throw refused }
            isAllowed = value == "allow"
        case .logLevel:
            guard let level = LogLevel(rawValue: value) else { throw refused }
            logLevel = level
        }
    }

    /// - Returns: false for a value that the key does not accept.
    private mutating func setView(_ side: PictureSide, _ key: Key, _ value: String) -> Bool {
        var view = views[side] ?? ViewSettings()
        switch key {
        case .localSink, .remoteSink:
            guard let sink = ViewSink(rawValue: value), sink != .descriptor else { return false }
            view.sink = sink
        case .localDevice, .remoteDevice:
            guard CameraNames.isName(value) else { return false }
            view.device = value
        case .localRectangle, .remoteRectangle:
            guard let rectangle = PictureRectangle(value) else { return false }
            view.rectangle = rectangle
        case .localRotation, .remoteRotation:
            guard let rotation = Int(value), ViewSettings.acceptedRotations.contains(rotation) else { return false }
            view.rotation = rotation
        case .resolution, .framesPerSecond, .name, .stateDirectory, .front, .back, .source, .output, .background,
            .access, .logLevel:
            return false
        }
        views[side] = view
        return true
    }

    private static func isName(_ text: String) -> Bool {
        (1...mostNameBytes).contains(text.utf8.count)
            && text.unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) }
    }
}

// MARK: The program

extension VideoSettings: CompanionSettings {
    static var program: String { "btcall-video" }

    static var standardFile: String { "/etc/btcall/video.conf" }

    static var options: [String: Key] {
        ["--state": .stateDirectory, "--log-level": .logLevel]
    }

    static var usage: String {
        """
        usage: btcall-video [--config FILE] [--bus system|session|ADDRESS] [--state FOLDER] [--log-level LEVEL]
                            [--foreground]
               btcall-video --check [FILE]      reads a configuration and says what is wrong with it
               btcall-video --version
        Finds cameras, sets the chosen one, and gives the pictures of calls to displays and programs (org.btcall.Video).
        Coding and network are the softphone's.
        The configuration is /etc/btcall/video.conf unless --config names another; without --config it may be absent.
        Options override the file. Without --bus the variable BTCALL_BUS names the bus, else it is the system's.
        --foreground logs to standard error, also under a service manager.
        """
    }

    var refusal: String? {
        for side in PictureSide.allCases {
            if let refusal = views[side]?.refusal { return "[view \(side.rawValue)]: \(refusal)" }
        }
        return conflict(of: views)
    }

    /// Why these views do not go together with each other, the output and the remote source; nil: they do.
    func conflict(of views: [PictureSide: ViewSettings]) -> String? {
        var users: [(node: String, name: String)] = []
        if let remoteSource { users.append((remoteSource, "[remote] source")) }
        if let outputDevice { users.append((outputDevice, "[output] device")) }
        for side in PictureSide.allCases {
            guard let view = views[side], view.sink == .device, let device = view.device else { continue }
            users.append((device, "the \(side.rawValue) view"))
        }
        for (index, user) in users.enumerated() {
            guard let other = users[..<index].first(where: { $0.node == user.node }) else { continue }
            return "\(other.name) and \(user.name) are both \(user.node): give each a node of its own"
        }
        return nil
    }
}
