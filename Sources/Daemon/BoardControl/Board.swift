package import Configuration
package import ControlLoop
package import Diagnostics
package import Logging
package import Routing

/// Watches and sets the board's hardware: jack, hook, mixers. Translates it into events and decides nothing.
@ControlPlane
package final class Board: HardwareSetting {
    package let events = Signal<RoutingEvent>()
    /// Sound cards have come or gone; their jacks have been checked.
    package let cardChanges = Signal<Void>()
    /// Whether arrival and removal of sound cards is reported, so that nobody has to poll.
    package let watchesCards: Bool
    private let source: (any BoardOpening)?
    private let jack: JackMonitor?
    private let hook: HookMonitor?
    private let mixers: [MixerKeeper]
    private let logger: Logger
    private var second: Timer?
    /// udev may link a device some time after creating it.
    private static let secondLook = Duration.seconds(1)
    /// Cards have come or gone while paused, or have never been checked.
    private var hasMissedChange: Bool
    /// Pauses all access to sound cards; jacks and mixers are checked when it ends.
    package var isPaused: Bool {
        didSet {
            if oldValue, !isPaused, hasMissedChange { look(.cards) }
        }
    }

    /// Checks everything once; events come after `start`.
    ///
    /// - Parameters:
    ///   - source: nil watches nothing; every device is then present when its sound card is.
    ///   - isPaused: starts paused.
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

    /// Sends the present state as events, and changes from then on.
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

    /// Whether the jack shows if the wired headset is plugged in; otherwise its sound card's presence does.
    package var managesWired: Bool { jack?.isManaged ?? false }

    /// Whether the jack is watched and empty.
    package var isWiredUnplugged: Bool { managesWired && jack?.state == .empty }

    /// Remarks for `btcall why`.
    package var notes: [String] { mixers.compactMap(\.note) }

    // MARK: Requests of the policy

    /// The device that carries the call has changed.
    package func routeChanged(to route: Route?) {
        for mixer in mixers where route?.local != mixer.device { mixer.deactivate() }
        for mixer in mixers where route?.local == mixer.device { mixer.activate() }
    }

    /// The device that stands by has changed.
    package func standbyChanged(to device: LocalDevice?) {
        for mixer in mixers where device != mixer.device { mixer.standDown() }
        for mixer in mixers where device == mixer.device { mixer.standBy() }
    }

    /// Sets the hardware of the active device again.
    package func refreshPath() {
        for mixer in mixers { mixer.refresh() }
    }

    /// Reads everything again, at a client's request.
    package func refresh() {
        hook?.refresh()
        hasMissedChange = isPaused
        guard !isPaused else { return }
        jack?.refresh()
        for mixer in mixers { mixer.look() }
        if watchesCards { cardChanges.send() }
    }

    // MARK: Arrival and removal

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
            // Until now its card's presence counted; from now on the jack does.
            events.send(.localLost(.wiredHeadset))
        }
        hook?.look()
        guard area == .cards else { return }
        for mixer in mixers { mixer.look() }
        cardChanges.send()
    }
}
