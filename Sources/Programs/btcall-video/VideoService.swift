import BTCallAPI
import BoardInput
import Cameras
import ControlLoop
import Logging
import VideoCapture
import VideoPlan

/// The present cameras, the choice among them, and what the chosen one was set to.
///
/// A camera is opened when it is chosen, when it appears, when another picture is requested, and for a request of access; it is
/// closed at once. One whose picture is being captured is closed by its holder before it is set.
@ControlPlane
final class VideoService {
    /// Who captures with cameras.
    @ControlPlane
    protocol Holder: AnyObject {
        func holds(_ camera: Camera) -> Bool
        /// Returns once no camera is open.
        func release() async
    }

    enum Change {
        case cameras, choice, capture, background
        /// The chosen camera was set again, or tried again, with the same result.
        case device
    }

    let changes = Signal<Change>()
    private(set) var cameras: [Camera] = []
    /// What the chosen camera was set to; nil while it is not.
    private(set) var capture: CaptureDescription?
    /// The same by the driver's own answer.
    private(set) var reached: CaptureSettings?
    /// Why it is not set, for people.
    private(set) var problem: String?
    /// Why it is not set, if it is present.
    private(set) var failure: CameraError?
    weak var holder: (any Holder)?
    private var choice: VideoChoice
    private let settings: VideoSettings
    private let system: any CameraSystem
    private let file: ChoiceFile
    private let logger: Logger
    /// The last camera that was set, or tried, and what was requested of it.
    private var tried: Camera?
    private var triedRequest: CaptureRequest?
    private var isReleasing = false

    init(_ settings: VideoSettings, system: any CameraSystem, logger: Logger) {
        self.settings = settings
        self.system = system
        self.logger = logger
        file = ChoiceFile(directory: settings.stateDirectory)
        do throws(FileRefusal) {
            choice = try file.read()
        } catch {
            logger.warning("the choice of the camera was not read: \(error): the front camera is used")
            choice = VideoChoice()
        }
        system.onChange = { [weak self] in self?.look() }
        do throws(SystemError) {
            try system.watch()
        } catch {
            logger.warning(
                "cameras that come later are not noticed: \(error); see fs.inotify.max_user_instances and max_user_watches"
            )
        }
        look()
    }

    func stop() { system.stop() }

    /// `front`, `back` or the name of a camera.
    var camera: String { choice.camera ?? CameraNames.frontWord }
    var request: CaptureRequest { choice.request ?? settings.request }
    var background: BackgroundChoice { choice.background ?? settings.background }

    var descriptions: [VideoCameraDescription] {
        cameras.map { camera in
            VideoCameraDescription(
                id: camera.id, name: camera.name, path: camera.path,
                aliases: settings.names.aliases(of: camera, among: cameras), isPermitted: camera.isPermitted)
        }
    }

    /// The chosen camera, if it is present.
    var chosen: Camera? { settings.names.camera(camera, among: cameras) }

    // MARK: Requests

    func setCamera(_ word: String) throws(APIError) {
        guard settings.names.accepts(word, among: cameras) else {
            let back = word == CameraNames.backWord ? ", [camera back] device is not configured" : ""
            throw APIError(
                .invalidArgument,
                "there is no camera \"\(word)\"\(back); accepted: \(settings.names.accepted(among: cameras))")
        }
        var new = choice
        new.camera = word
        try choose(new)
    }

    func setCapture(resolution text: String, framesPerSecond rate: Int) throws(APIError) {
        guard let resolution = CaptureRequest.Resolution(text) else {
            throw APIError(
                .invalidArgument, "resolution is \"\(text)\"; accepted: \(CaptureRequest.acceptedResolution)")
        }
        let range = CaptureRequest.acceptedRates
        guard range.contains(rate) else {
            throw APIError(
                .invalidArgument, "framesPerSecond is \(rate); accepted: \(range.lowerBound) to \(range.upperBound)")
        }
        var new = choice
        new.request = CaptureRequest(resolution, framesPerSecond: rate)
        try choose(new)
    }

    /// Replaces what is behind a person. Whether it can be shown, the caller has checked.
    func setBackground(_ background: BackgroundChoice) throws(APIError) {
        var new = choice
        new.background = background
        try keep(new)
    }

    /// The configuration counts again.
    func reset() throws(APIError) { try choose(VideoChoice()) }

    /// Whether the chosen camera may be used now.
    func access() -> AccessDescription.Verdict {
        guard settings.isAllowed else { return .denied(.policy, reason: Self.denial) }
        guard let camera = chosen else { return .denied(.noDevice, reason: absence) }
        // Its own picture is no other program's use.
        if holder?.holds(camera) == true { return .allowed }
        do throws(CameraError) {
            try CameraSetup(system).check(camera)
            return .allowed
        } catch {
            let cause: AccessDescription.Cause =
                switch error {
                case .missing: .noDevice
                case .denied: .noPermission
                case .busy: .inUse
                case .refused, .failed: .unavailable
                }
            return .denied(cause, reason: "camera \(self.camera): \(error)")
        }
    }

    /// Keeps the choice, then sets the camera.
    private func choose(_ new: VideoChoice) throws(APIError) {
        try keep(new)
        changes.send(.choice)
        setChosen()
    }

    /// Writes the choice, then makes it: what is not kept is not chosen.
    private func keep(_ new: VideoChoice) throws(APIError) {
        do throws(SystemError) {
            try file.write(new)
        } catch {
            throw APIError(.unavailable, "the choice cannot be kept in \(file.path): \(error)")
        }
        let before = background
        choice = new
        if background != before { changes.send(.background) }
    }

    // MARK: The camera

    /// Looks which cameras exist now, and sets the chosen one if it is not set.
    private func look() {
        // These nodes carry pictures, and are no cameras. A link may have come since the last look.
        let carriers = Set(settings.pictureNodes.map { Directory.resolve($0) ?? $0 })
        let now = system.cameras().filter { !carriers.contains(Directory.resolve($0.path) ?? $0.path) }
        let hasChanged = now != cameras
        cameras = now
        if hasChanged { changes.send(.cameras) }
        if chosen != tried || capture == nil { setChosen() }
    }

    /// The chosen camera gives no pictures, or is not set: checks that it is present and free.
    func lookAgain() {
        look()
        guard let camera = chosen, camera == tried, reached != nil else { return }
        do throws(CameraError) {
            try CameraSetup(system).check(camera)
        } catch {
            report(problem: "camera \(self.camera): \(error)", error)
        }
    }

    private func setChosen() {
        if let camera = chosen, settings.isAllowed, let holder, holder.holds(camera) {
            guard camera != tried || request != triedRequest else {
                // The word for it may be another one.
                if let reached { report(camera, reached) }
                return
            }
            return release(by: holder)
        }
        tried = chosen
        triedRequest = request
        guard settings.isAllowed else { return report(problem: Self.denial) }
        guard let camera = tried else { return report(problem: absence) }
        do throws(CameraError) {
            report(camera, try CameraSetup(system).set(camera, to: request))
        } catch {
            report(problem: "camera \(self.camera): \(error)", error)
        }
    }

    /// A driver changes nothing while it captures.
    private func release(by holder: any Holder) {
        guard !isReleasing else { return }
        isReleasing = true
        Task { @ControlPlane [self] in
            await holder.release()
            isReleasing = false
            setChosen()
        }
    }

    private func report(_ camera: Camera, _ reached: CaptureSettings) {
        let capture = CaptureDescription(
            camera: self.camera, id: camera.id, width: reached.size.width, height: reached.size.height,
            framesPerSecond: reached.rate.map { Double($0.thousandths) / 1000 }, format: "\(reached.format)")
        self.reached = reached
        failure = nil
        guard capture != self.capture else { return changes.send(.device) }
        (self.capture, problem) = (capture, nil)
        let rate = reached.rate.map { "\($0) frames per second" } ?? "a rate that its driver does not say"
        logger.notice("camera \(capture.camera) (\(capture.id)): \(reached.size) \(reached.format), \(rate)")
        changes.send(.capture)
    }

    private func report(problem: String, _ failure: CameraError? = nil) {
        reached = nil
        self.failure = failure
        guard problem != self.problem else { return changes.send(.device) }
        (capture, self.problem) = (nil, problem)
        logger.notice("\(problem)")
        changes.send(.capture)
    }

    private static let denial = "[privacy] camera = deny in /etc/btcall/video.conf denies the camera"
    private var absence: String {
        let names = cameras.map(\.id).joined(separator: ", ")
        return "there is no camera \(camera) at present: "
            + (names.isEmpty ? "none is connected" : "there are \(names)")
    }
}
