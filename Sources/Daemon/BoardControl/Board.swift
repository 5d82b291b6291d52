package import Configuration
package import ControlLoop
package import Diagnostics
package import Logging
package import Routing

/// What the board itself tells and lets be set: the jack, the hook, the mixers. Maps it to events, decides nothing.
@ControlPlane
package final class Board: HardwareSetting {
    package let events = Signal<RoutingEvent>()
    /// Sound cards have come or gone; their jacks have been looked at.
    package let cardChanges = Signal<Void>()
    /// Whether coming and going of sound cards is told, so that nobody has to look by the clock.
    package let watchesCards: Bool
    private let source: (any BoardOpening)?
    private let jack: JackMonitor?
    private let hook: HookMonitor?
    private let mixers: [MixerKeeper]
    private let logger: Logger
    private var second: Timer?
    /// udev may link a device later than it has made it.
    private static let secondLook = Duration.seconds(1)
    /// They have come or gone, or have never been looked at, while nothing was looked at.
    private var hasMissedChange: Bool
    /// Sound cards are left alone: their jacks and mixers are looked at when that ends.
    package var isPaused: Bool {
        didSet {
            if oldValue, !isPaused, hasMissedChange { look(.cards) }
        }
    }

    /// Looks at everything once; events come after `start`.
    ///
    /// - Parameters:
    ///   - source: nil watches nothing, and every device is there when its sound card is.
    ///   - isPaused: looks at no sound card before that ends.
    package init(
        configuration: Configuration, source: (any BoardOpening)?, problems: ProblemList, logger: Logger,
        isPaused: Bool = false
    ) {
        self.isPaused = isPaused
        hasMissedChange = isPaused
        self.source = source
        self.logger = logger
        guard let source else {
            (watchesCards, jack, hook, mixers) = (false, nil, nil, [])
            return
        }
        let devices = configuration.localDevices
        jack = devices[.wiredHeadset].flatMap { device in
            device.pcm.map { pcm in
                JackMonitor(
                    specification: device.jack, pcm: pcm, hasCapture: device.capture != nil, source: source,
                    problems: problems, logger: logger)
            }
        }
        hook = devices[.earpiece]?.hook.map {
            HookMonitor(specification: $0, source: source, problems: problems, logger: logger)
        }
        mixers = LocalDevice.allCases.compactMap { kind in
            guard configuration.autoConfigure, let device = devices[kind], let name = device.mixer, let pcm = device.pcm
            else { return nil }
            return MixerKeeper(
                device: kind, name: name, volume: device.volume, pcm: pcm, source: source, problems: problems,
                logger: logger)
        }
        watchesCards = !devices.isEmpty && source.watch(.cards)
        var others = jack?.areas ?? []
        if let area = hook?.area { others.insert(area) }
        for area in others.sorted(by: { "\($0)" < "\($1)" }) where area != .cards {
            if !source.watch(area) { logger.warning("new \(area) are not noticed: Refresh looks for them") }
        }
        if !isPaused { jack?.look() }
        hook?.look()
        if !isPaused { for mixer in mixers { mixer.look() } }
        source.onChange = { [weak self] area in self?.changed(area) }
    }

    /// Tells what is so at the beginning, and from then on what changes.
    package func start() {
        jack?.onEdge = { [weak self] edge in self?.events.send(edge) }
        hook?.onEvent = { [weak self] event in self?.events.send(event) }
        if let jack, jack.state != .empty { events.send(JackMonitor.edge(jack.state)) }
        if hook?.isLifted == true { events.send(.handsetOffHook) }
    }

    package func stop() {
        second?.cancel()
        second = nil
        source?.onChange = nil
        source?.stop()
        jack?.stop()
        hook?.stop()
        for mixer in mixers { mixer.stop() }
    }

    /// Whether the jack says that the wired headset is there; else its sound card alone does.
    package var managesWired: Bool { jack?.isManaged ?? false }

    /// Whether the jack, which would say otherwise, is empty.
    package var isWiredUnplugged: Bool { managesWired && jack?.state == .empty }

    /// For `btcall why`.
    package var notes: [String] { mixers.compactMap(\.note) }

    // MARK: What the policy wants

    /// The device that carries the call has changed.
    package func routeChanged(to route: Route?) {
        for mixer in mixers where route?.local != mixer.device { mixer.deactivate() }
        for mixer in mixers where route?.local == mixer.device { mixer.activate() }
    }

    /// Sets the hardware of the active device again.
    package func refreshPath() {
        for mixer in mixers { mixer.refresh() }
    }

    /// Reads everything once more, as a client has asked for.
    package func refresh() {
        hook?.refresh()
        hasMissedChange = isPaused
        guard !isPaused else { return }
        jack?.refresh()
        for mixer in mixers { mixer.look() }
        if watchesCards { cardChanges.send() }
    }

    // MARK: Coming and going

    private func changed(_ area: BoardArea) {
        look(area)
        second?.cancel()
        second = nil
        guard jack?.isIncomplete == true || hook?.isIncomplete == true else { return }
        second = ControlLoop.shared.schedule(after: Self.secondLook) { [weak self] in
            self?.second = nil
            self?.look(area)
        }
    }

    private func look(_ area: BoardArea) {
        logger.debug("\(area) have changed")
        hasMissedChange = isPaused
        guard !isPaused else {
            hook?.look()
            return
        }
        let wasManaged = managesWired
        jack?.look()
        if !wasManaged, managesWired {
            // It was there with its card alone: from here on the jack says so.
            events.send(.localLost(.wiredHeadset))
        }
        hook?.look()
        guard area == .cards else { return }
        for mixer in mixers { mixer.look() }
        cardChanges.send()
    }
}
