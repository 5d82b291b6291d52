import BTCallAPI
import BluetoothTypes
import Cameras
import ControlLoop
import DBus
import FrameRings
import Glibc
import Logging
import Pictures
import VideoCapture
import VideoPlan

/// The pictures of calls: what the far end gets, what the person sees, and who else gets them.
///
/// It collects facts, asks `PicturePlan` what follows, and carries that out, after each change of any of them.
@ControlPlane
final class PictureService {
    enum Change {
        case picture, views, outputDevice
    }

    /// What tests put in the place of devices.
    struct Parts {
        /// The pipeline of a camera.
        var camera: @Sendable (Camera, CaptureSettings, PictureFormat) -> PipelinePlan = { .camera($0.path, $1, $2) }
        var remoteSource: @Sendable (String) -> PipelinePlan = { .remoteSource($0) }
        var openOutput: OutputDevice.Opener = OutputDevice.open
        /// What shows pictures instead of displays.
        var displayEnd: String?
        /// Time without pictures after which a camera counts as frozen.
        var stall = LocalPictures.usualStall
    }

    let changes = Signal<Change>()
    let endings = Signal<String>()
    /// Tells btcalld whether a camera is in use.
    var onCameraUse: (@ControlPlane (_ isInUse: Bool) -> Void)?
    let local: LocalPictures
    let views: ViewOutputs
    let output: OutputDevice?
    let calls: PictureCalls
    let cameras: VideoService
    let settings: VideoSettings
    let logger: Logger
    private var requested: [PictureSide: RequestedView] = [:]
    /// Distinguishes a client's view from later ones of the same side.
    private var viewNumbers: [PictureSide: Int] = [:]
    private var viewNumber = 0
    var taps: [Tap] = []
    /// Remote pictures of applications, by call.
    var offers: [String: RemoteOffer] = [:]
    /// The remote picture of `[remote] source`.
    let source: RemoteSource?
    let sourceHub = FrameHub()
    /// Calls whose remote picture somebody waits for.
    var awaitedRemotes: [String: Int] = [:]
    /// Formats of pictures that programs read, or are about to.
    var promised: [TappedPicture: PictureFormat] = [:]
    var knownCalls: Set<String> = []
    var lastOffer = 0
    private let parts: Parts
    private let bus: BusConnection
    private(set) var plan = PicturePlan(PictureFacts())
    /// The call whose picture the local one is.
    private var formatCall: String?
    private var isPlanned = false
    private var isInUse = false
    private var isReleasing = false
    private var retry: Timer?
    private var shown = PictureDescription()
    private var isStopped = false
    /// Problems that have been logged, and last.
    private var logged: Set<String> = []

    /// Pause before a camera that is in use or fails is tried again.
    private static let retryPause = Duration.seconds(2)

    init(
        _ settings: VideoSettings, cameras: VideoService, calls: PictureCalls, bus: BusConnection, parts: Parts,
        logger: Logger
    ) {
        self.settings = settings
        self.cameras = cameras
        self.calls = calls
        self.bus = bus
        self.parts = parts
        self.logger = logger
        local = LocalPictures(name: settings.boxName ?? Self.hostName, stall: parts.stall)
        views = ViewOutputs(end: parts.displayEnd, opener: parts.openOutput)
        output = settings.outputDevice.map { OutputDevice($0, opener: parts.openOutput) }
        source = settings.remoteSource.map { [hub = sourceHub] in RemoteSource(parts.remoteSource($0), hub) }
        local.setBackground(cameras.background)
        cameras.holder = self
        follow()
    }

    private func follow() {
        calls.changes.subscribe(self) { $0.evaluate() }
        local.changes.subscribe(self) { $0.evaluate() }
        cameras.changes.subscribe(self) { service, change in
            if case .background = change { service.local.setBackground(service.cameras.background) }
            service.evaluate()
        }
        views.changes.subscribe(self) { service in
            service.endLostViews()
            service.changes.send(.views)
        }
        output?.changes.subscribe(self) { $0.changes.send(.outputDevice) }
        source?.changes.subscribe(self) { $0.evaluate() }
        output?.open(nextFormat)
        evaluate()
    }

    private static var hostName: String {
        var bytes = [CChar](repeating: 0, count: 65)
        guard gethostname(&bytes, bytes.count - 1) == 0 else { return "btcall" }
        return PrintableText.line(bytes: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) })
    }

    /// Ends all pictures; returns once no camera is open and no pipeline runs.
    func stop() async {
        isStopped = true
        retry?.cancel()
        calls.stop()
        endAllPictures()
        views.show([])
        for side in PictureSide.allCases { views.setDescriptor(nil, of: side) }
        output?.write(nil)
        output?.close()
        source?.run(false)
        local.end()
        await views.idle()
        await output?.idle()
        await source?.idle()
        await local.idle()
    }

    // MARK: The plan

    /// Plans and carries out, once for all changes of this turn of the loop.
    func evaluate() {
        guard !isPlanned, !isStopped else { return }
        isPlanned = true
        ControlLoop.shared.perform { [weak self] in
            guard let self else { return }
            isPlanned = false
            if !isStopped { carryOut() }
        }
    }

    var facts: PictureFacts {
        var facts = PictureFacts()
        facts.calls = calls.calls
        facts.isMicrophoneAllowed = calls.isMicrophoneAllowed
        facts.isCameraAllowed = settings.isAllowed
        facts.camera = cameraState
        for side in PictureSide.allCases { facts.views[side] = view(of: side) }
        facts.hasOutputDevice = output != nil
        facts.hasRemoteSource = source != nil
        facts.localTaps = Set(taps.compactMap { $0.picture.side == .local ? $0.picture.call : nil })
        facts.hasCameraTap = taps.contains { $0.picture.call == nil }
        facts.remoteTaps = Set(taps.compactMap { $0.picture.side == .remote ? $0.picture.call : nil })
            .union(awaitedRemotes.keys)
        facts.offers = Set(offers.keys)
        return facts
    }

    private var cameraState: CameraState {
        guard cameras.chosen != nil else { return .absent }
        if local.backgroundProblem != nil { return .failing }
        switch cameras.failure {
        case nil: return local.cameraProblem == nil ? .usable : .failing
        case .missing: return .absent
        case .busy: return .inUse
        case .denied, .refused, .failed: return .failing
        }
    }

    private func carryOut() {
        let before = plan
        endPicturesOfEndedCalls()
        plan = PicturePlan(facts)
        carryOutLocal()
        handOut()
        attachTaps()
        tellCameraUse()
        reconsiderCamera()
        if plan.local != before.local || plan.call != before.call { logPlan() }
        logProblems()
        publish()
    }

    private func logPlan() {
        let what: String
        switch plan.local {
        case .none: what = "none"
        case .camera: what = "the camera"
        case .card(let cause): what = "the card (\(cause.rawValue))"
        }
        let whose = plan.call.flatMap { BTCallPath.callID(at: $0) }.map { " of call \($0)" } ?? ""
        logger.notice("picture\(whose): \(what)")
    }

    private func logProblems() {
        let problems: [String?] = [
            local.cameraProblem.map { "the camera gives no picture: \($0)" },
            local.backgroundProblem.map { "the background is not applied: \($0)" },
            local.cardProblem.map { "the card has no text: \($0)" },
        ]
        for problem in problems.compactMap(\.self) where !logged.contains(problem) { logger.warning("\(problem)") }
        logged = Set(problems.compactMap(\.self))
    }

    private func carryOutLocal() {
        guard plan.local != .none else {
            formatCall = nil
            return local.end()
        }
        let isNewCall = plan.call != nil && plan.call != formatCall
        // A picture keeps its size for a call; a tap without a call keeps it for the call that comes.
        if local.format == nil || isNewCall && formatCall != nil { local.begin(nextFormat) }
        formatCall = plan.call ?? formatCall
        local.show(plan.wantsCamera ? .camera : .card)
        guard let format = local.format, !isReleasing else { return }
        guard plan.wantsCamera, let camera = cameras.chosen, let reached = cameras.reached else {
            return local.capture(nil)
        }
        local.capture(parts.camera(camera, reached, format), of: Self.device(camera))
    }

    /// Of the next local picture.
    var nextFormat: PictureFormat {
        cameras.reached.map { PictureFormat($0.size, $0.rate) } ?? PictureFormat(requested: cameras.request)
    }

    /// A camera that comes back at a different node counts as a different device.
    private static func device(_ camera: Camera) -> String { "\(camera.path) \(camera.node)" }

    private func handOut() {
        source?.run(plan.readsRemoteSource)
        var flows: [PictureFlow] = []
        if plan.views.contains(.local), let format = local.format {
            flows.append(PictureFlow(PlannedView(.local, view(of: .local), format), local.hub))
        }
        if plan.views.contains(.remote), let remote = plan.call.flatMap({ remotePicture(of: $0) }) {
            flows.append(PictureFlow(PlannedView(.remote, view(of: .remote), remote.format), remote.hub))
        }
        views.show(flows)
        output?.write(outputFlow)
    }

    private var outputFlow: PictureFlow? {
        guard plan.writesOutputDevice, let output, let format = local.format else { return nil }
        return PictureFlow(PlannedView(.local, ViewSettings(.device, device: output.path), format), local.hub)
    }

    private func tellCameraUse() {
        let isOpen = !local.devices.isEmpty
        guard isOpen != isInUse else { return }
        isInUse = isOpen
        onCameraUse?(isOpen)
    }

    /// A camera that fails is looked for: perhaps it was pulled. One that is not set is tried again.
    private func reconsiderCamera() {
        let isLost = local.cameraProblem != nil
        let isUnset = plan.wantsCamera && cameras.chosen != nil && cameras.reached == nil
        guard isLost || isUnset else {
            retry?.cancel()
            retry = nil
            return
        }
        guard retry == nil else { return }
        // At once for the first time: a camera that was pulled is absent.
        retry = ControlLoop.shared.schedule(after: isLost ? .zero : Self.retryPause) { [weak self] in
            guard let self else { return }
            retry = ControlLoop.shared.schedule(after: Self.retryPause) { [weak self] in
                self?.retry = nil
                self?.evaluate()
            }
            cameras.lookAgain()
        }
    }

    // MARK: What is seen

    /// The remote picture of a call: an application's before that of the configured node.
    func remotePicture(of call: String) -> (format: PictureFormat, hub: FrameHub)? {
        if let offer = offers[call] { return (offer.format, offer.hub) }
        guard call == plan.call, let format = source?.format else { return nil }
        return (format, sourceHub)
    }

    /// The view of a client, else that of the configuration: none while a client has its node for the other side.
    func view(of side: PictureSide) -> ViewSettings {
        if let own = requested[side] { return own.settings }
        let configured = settings.views[side] ?? ViewSettings()
        var views = requested.mapValues { $0.settings }
        views[side] = configured
        return settings.conflict(of: views) == nil ? configured : ViewSettings()
    }

    var description: PictureDescription {
        var picture = PictureDescription(call: plan.call)
        switch plan.local {
        case .none: break
        case .camera: picture.local = local.isCameraSeen ? .camera : .card
        case .card(let cause): (picture.local, picture.cause) = (.card, .init(cause))
        }
        if let format = local.format {
            (picture.width, picture.height) = (format.width, format.height)
            picture.framesPerSecond = format.framesPerSecond
        }
        picture.isRemote = plan.call.map { remotePicture(of: $0) != nil } ?? false
        picture.isBackgrounded = picture.local == .camera && local.isBackgrounded
        return picture
    }

    private func publish() {
        let new = description
        if new != shown {
            shown = new
            changes.send(.picture)
        }
    }

    // MARK: Views

    /// Sets a view for a client; one with a descriptor ends with the client.
    ///
    /// - Throws: `invalidArgument` for a node that something else has.
    func setView(
        _ side: PictureSide, _ settings: ViewSettings, _ descriptor: PassedDescriptor?, of owner: String
    ) throws(APIError) {
        try check(settings, at: side)
        viewNumber += 1
        let number = viewNumber
        viewNumbers[side] = number
        requested[side]?.end()
        requested[side] = RequestedView(settings, descriptor, of: owner, on: bus) { [weak self] in
            guard let self, viewNumbers[side] == number else { return }
            endView(side)
        }
        viewChanged(side)
    }

    private func check(_ settings: ViewSettings, at side: PictureSide) throws(APIError) {
        var views = Dictionary(uniqueKeysWithValues: PictureSide.allCases.map { ($0, view(of: $0)) })
        views[side] = settings
        if let conflict = self.settings.conflict(of: views) { throw APIError(.invalidArgument, conflict) }
    }

    /// Returns to the configuration for a client.
    ///
    /// - Throws: `invalidArgument` for a configured node that the other view has.
    func resetView(_ side: PictureSide) throws(APIError) {
        guard requested[side] != nil else { return }
        try check(settings.views[side] ?? ViewSettings(), at: side)
        endView(side)
    }

    /// The configuration counts again.
    private func endView(_ side: PictureSide) {
        guard let old = requested.removeValue(forKey: side) else { return }
        old.end()
        viewNumbers[side] = nil
        viewChanged(side)
    }

    private func viewChanged(_ side: PictureSide) {
        views.setDescriptor(requested[side]?.descriptor?.descriptor, of: side)
        evaluate()
        changes.send(.views)
    }

    /// A stream that nobody reads any more ends, like one whose client has gone.
    private func endLostViews() {
        for side in PictureSide.allCases where views.isOver(side) {
            if let problem = views.status(of: side).problem { logger.notice("view \(side.rawValue): \(problem)") }
            endView(side)
        }
    }
}

extension PictureService: VideoService.Holder {
    func holds(_ camera: Camera) -> Bool { local.devices.contains(Self.device(camera)) }

    func release() async {
        isReleasing = true
        local.capture(nil)
        await local.cameraIdle()
        isReleasing = false
    }
}

extension PictureDescription.Cause {
    fileprivate init(_ cause: CardCause) {
        switch cause {
        case .held: self = .held
        case .disabled: self = .disabled
        case .privacy: self = .privacy
        case .noCamera: self = .noCamera
        case .inUse: self = .inUse
        case .failed: self = .failed
        }
    }
}
