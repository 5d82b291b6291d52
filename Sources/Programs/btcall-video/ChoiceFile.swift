import ControlLoop
import Glibc
import VideoCapture
import VideoPlan

/// What clients have chosen, kept over restarts.
struct VideoChoice: Equatable, Sendable {
    /// Nil: the front camera.
    var camera: String?
    /// Nil: the request of the configuration.
    var request: CaptureRequest?
    /// Nil: that of the configuration.
    var background: BackgroundChoice?

    init(camera: String? = nil, request: CaptureRequest? = nil, background: BackgroundChoice? = nil) {
        self.camera = camera
        self.request = request
        self.background = background
    }

    /// Reads the lines `camera NAME`, `capture RESOLUTION RATE` and `background CHOICE`; other lines are left out.
    init(reading bytes: [UInt8]) {
        for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
            // The path of a picture may have spaces.
            if line.hasPrefix(Self.backgroundWord) {
                background = BackgroundChoice(String(line.dropFirst(Self.backgroundWord.count))) ?? background
                continue
            }
            let words = line.split(separator: " ").map(String.init)
            if words.count == 2, words[0] == "camera", CameraNames.isName(words[1]) {
                camera = words[1]
            } else if words.count == 3, words[0] == "capture", let rate = Int(words[2]),
                let resolution = CaptureRequest.Resolution(words[1]), CaptureRequest.acceptedRates.contains(rate)
            {
                request = CaptureRequest(resolution, framesPerSecond: rate)
            }
        }
    }

    var text: String {
        let lines = [
            camera.map { "camera \($0)\n" }, request.map { "capture \($0.resolution) \($0.framesPerSecond)\n" },
            background.map { "\(Self.backgroundWord)\($0)\n" },
        ]
        return lines.compactMap(\.self).joined()
    }

    private static let backgroundWord = "background "
}

/// The file with the choice: `choice` in the state directory.
struct ChoiceFile {
    private let directory: String
    private static let mostBytes = 4096

    init(directory: String) {
        self.directory = directory
    }

    var path: String { directory + "/choice" }

    /// - Returns: nothing chosen if there is no file.
    /// - Throws: for a file that is not accepted; nothing is chosen then.
    func read() throws(FileRefusal) -> VideoChoice {
        do throws(FileRefusal) {
            return VideoChoice(reading: try ForeignFile.read(path, atMost: Self.mostBytes))
        } catch {
            if case .failed(let failure) = error.reason, failure.code == ENOENT { return VideoChoice() }
            throw error
        }
    }

    func write(_ choice: VideoChoice) throws(SystemError) {
        try OwnFile.makeDirectory(directory)
        try OwnFile.replace(path, with: Array(choice.text.utf8))
    }
}
