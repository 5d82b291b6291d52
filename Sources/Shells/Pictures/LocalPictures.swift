import BluetoothTypes
package import ControlLoop
package import VideoPlan

/// The picture that the far end gets: the camera's, or a card, from its beginning to its end in one size.
@ControlPlane
package final class LocalPictures {
    /// What is shown.
    package enum Mode: Hashable, Sendable {
        case card, camera
    }

    /// A camera without pictures for so long is frozen: the card is shown.
    package nonisolated static let usualStall = Duration.milliseconds(400)
    /// After this time it is started again, too.
    private static let mostStall = Duration.seconds(5)
    private static let look = Duration.milliseconds(200)

    /// Everybody who gets it.
    package let hub = FrameHub()
    /// Nil: there is none.
    package private(set) var format: PictureFormat?
    /// Something of what is shown has changed.
    package let changes = Signal<Void>()
    private let name: String
    private let stall: Duration
    private let gate: PictureGate
    private let camera: CameraPipeline
    private let background: Background
    private var choice = BackgroundChoice.off
    private var mode = Mode.card
    private var card: Picture?
    /// Why the card has no name.
    package private(set) var cardProblem: PictureError?
    private var clock: Timer?
    private var watch: Timer?
    /// The next card's time.
    private var next = Instant.zero

    /// - Parameters:
    ///   - name: text of the card.
    ///   - stall: time without pictures after which a camera counts as frozen.
    package init(name: String, stall: Duration = LocalPictures.usualStall) {
        self.name = name
        self.stall = stall
        let relay = Relay()
        gate = PictureGate(
            hub, onFlow: { Task { @ControlPlane in relay.pictures?.changes.send() } },
            onReplacement: { number in Task { @ControlPlane in relay.pictures?.camera.replaced(by: number) } })
        camera = CameraPipeline(gate)
        background = Background(gate)
        relay.pictures = self
        camera.onChange = { [weak self] in self?.changes.send() }
        background.onChange = { [weak self] in self?.changes.send() }
    }

    /// Leads from the threads of pipelines to the pictures.
    @ControlPlane
    private final class Relay {
        weak var pictures: LocalPictures?
    }

    // MARK: State

    /// Whether the camera's picture is given now.
    package var isCameraSeen: Bool { format != nil && gate.isFlowing }
    package var isBackgrounded: Bool { format != nil && gate.isBackgrounded }
    package var cameraProblem: PictureError? { camera.problem }
    package var backgroundProblem: PictureError? { background.problem }
    /// Cameras that are open, or about to be.
    package var devices: [String] { camera.devices }

    // MARK: Requests

    /// Begins a picture, with the card.
    package func begin(_ format: PictureFormat) {
        guard format != self.format else { return }
        end()
        self.format = format
        mode = .card
        gate.show(.card)
        background.want(choice, format)
        makeCard(format)
        changes.send()
    }

    /// Ends it: everybody's picture ends, and the camera is closed.
    package func end() {
        guard format != nil else { return }
        format = nil
        gate.show(.closed)
        clock?.cancel()
        watch?.cancel()
        (clock, watch, card) = (nil, nil, nil)
        camera.want(nil, of: "")
        background.want(choice, nil)
        hub.endConsumers()
        changes.send()
    }

    package func show(_ new: Mode) {
        guard format != nil, new != mode else { return }
        mode = new
        gate.show(new == .card ? .card : .camera)
        startClock()
        startWatch()
        changes.send()
    }

    /// - Parameters:
    ///   - plan: nil: the camera is closed.
    ///   - device: tells cameras apart.
    package func capture(_ plan: PipelinePlan?, of device: String = "") {
        guard format != nil || plan == nil else { return }
        camera.want(plan, of: device)
    }

    package func setBackground(_ choice: BackgroundChoice) {
        self.choice = choice
        background.want(choice, format)
    }

    /// Returns once no camera is open and no pipeline runs. ``end()`` has to come first.
    package func idle() async {
        await camera.idle()
        await background.idle()
    }

    /// Returns once a camera is closed that is not wanted any more.
    package func cameraIdle() async { await camera.idle() }

    // MARK: The card

    private func makeCard(_ format: PictureFormat) {
        // A plain one until the one with the name has been made.
        card = Self.plainCard(format)
        startClock()
        let name = name
        Task { @ControlPlane [weak self] in
            let outcome = await GStreamer.beside { () throws(PictureError) in
                try Pipeline.picture(of: .card(name, format))
            }
            guard let self, self.format == format else { return }
            switch outcome {
            case .success(let picture): (card, cardProblem) = (picture, nil)
            case .failure(let error):
                cardProblem = error
                changes.send()
            }
        }
    }

    /// The colour of the card with the name.
    private static func plainCard(_ format: PictureFormat) -> Picture? {
        Picture(luma: 48, blue: 130, red: 125, width: format.width, height: format.height)
    }

    private func startClock() {
        guard clock == nil, let format, gate.needsCard else { return }
        next = ControlLoop.now
        tick(format.interval)
    }

    private func tick(_ interval: Duration) {
        clock = nil
        guard gate.needsCard, let card else { return }
        let now = ControlLoop.now
        gate.give(card: card, at: UInt64(clamping: now.nanoseconds))
        next = max(next.advanced(by: interval), now)
        clock = ControlLoop.shared.schedule(at: next) { [weak self] in self?.tick(interval) }
    }

    // MARK: The camera

    private func startWatch() {
        watch?.cancel()
        watch = nil
        guard format != nil, mode == .camera else { return }
        watch = ControlLoop.shared.schedule(after: Self.look) { [weak self] in self?.lookForStall() }
    }

    private func lookForStall() {
        watch = nil
        guard let format, mode == .camera else { return }
        let wasSeen = gate.isFlowing
        let limit = max(stall, format.interval * 3)
        let age = gate.lookForStall(
            at: UInt64(clamping: ControlLoop.now.nanoseconds), after: UInt64(clamping: limit.nanoseconds))
        if let age, age > UInt64(clamping: max(Self.mostStall, limit * 2).nanoseconds) { camera.restart() }
        startClock()
        if wasSeen != gate.isFlowing { changes.send() }
        startWatch()
    }
}
