package import AudioPaths
package import BluetoothTypes
package import BoardControl
package import ControlLoop
package import Diagnostics
package import HeadsetControl
package import Logging
package import Routing

/// Feeds the policy with events and carries out its decisions; makes no decision of its own.
@ControlPlane
package final class RouteController: RouteDeciding {
    package private(set) var policy: RoutingPolicy
    package let notices = Signal<RouteNotice>()
    package let ringing = Signal<Ringing>()
    package let musicReturns = Signal<BluetoothAddress>()
    private weak var links: (any LinkOpening)?
    /// Opens the links of headsets that are used without their microphone.
    private weak var streams: (any StreamLinkOpening)?
    /// Headsets whose present or last link is a stream.
    private var streamed: Set<BluetoothAddress> = []
    package let recorder: FlightRecorder
    package let incidents: IncidentMonitor?
    private weak var hardware: (any HardwareSetting)?
    private let graph: AudioGraph
    private let logger: Logger
    private var timer: Timer?
    private var queue: [RoutingEvent] = []
    /// Notices to send once the audio has been moved.
    private var pendingNotices: [RouteNotice] = []
    private var isHandling = false

    package init(
        policy: RoutingPolicy, graph: AudioGraph, hardware: (any HardwareSetting)? = nil, recorder: FlightRecorder,
        incidents: IncidentMonitor? = nil, logger: Logger
    ) {
        self.hardware = hardware
        self.policy = policy
        self.graph = graph
        self.recorder = recorder
        self.incidents = incidents
        self.logger = logger
        graph.standbyChanges.subscribe(self) { $0.hardware?.standbyChanged(to: $1) }
    }

    /// Sets who opens links and streams; both are created after this router, and need it.
    package func serve(links: any LinkOpening, streams: any StreamLinkOpening) {
        self.links = links
        self.streams = streams
    }

    /// An event that arises while another one is carried out is queued, so that effects keep their order.
    package func handle(_ event: RoutingEvent) {
        queue.append(event)
        guard !isHandling else { return }
        isHandling = true
        // The end of a change of the graph may report another event.
        while !queue.isEmpty { graph.change { handleQueue() } }
        isHandling = false
        // The audio comes first: each notified client wakes up and competes for the processor.
        let due = pendingNotices + [.stateChanged]
        pendingNotices = []
        for notice in due { notices.send(notice) }
    }

    private func handleQueue() {
        while !queue.isEmpty {
            let event = queue.removeFirst()
            logger.trace("routing event: \(event)")
            // Recordings store whole milliseconds, and so do all deadlines.
            let now = ControlLoop.now.wholeMilliseconds
            let old = policy.current
            recorder.willHandle(at: now, policy)
            let effects = policy.handle(event, at: now)
            recorder.didHandle(event, at: now, policy)
            for effect in effects { perform(effect) }
            graph.setStandby(policy.standIn(at: now))
            incidents?.handled(event, old: old, policy, at: now)
            guard event == .refresh else { continue }
            hardware?.refresh()
            pendingNotices.append(.refreshed)
        }
    }

    package var choiceSequence: Int? { policy.choiceSequence }

    /// The reason why the policy would refuse a selection; nil when it would accept it.
    package func refusal(ofSelecting device: AudioDevice) -> RoutingError? { policy.refusal(ofSelecting: device) }

    private func perform(_ effect: RoutingEffect) {
        switch effect {
        case .openPath(let route): open(route)
        case .closePath(let route): close(route)
        case .refreshPath:
            if policy.current == .local(.wiredHeadset) { setWiredMicrophone() }
            if policy.current?.mode == .a2dp { graph.setStreamMicrophone(isSpoken: policy.input != .none) }
            hardware?.refreshPath()
        case .openLink(let address, .a2dp, _, let attempt):
            logger.about(headset: address).info("opening A2DP to \(address), attempt \(attempt)")
            streamed.insert(address)
            streams?.openLink(address)
        case .openLink(let address, .hfp, let codecHint, let attempt):
            streamed.remove(address)
            logger.about(headset: address).info("opening the audio link to \(address), attempt \(attempt)")
            links?.openLink(
                address, codecHint: codecHint, attempt: attempt, timeout: policy.configuration.openTimeout)
        case .closeLink(let address):
            if streamed.contains(address) { streams?.closeLink(address) } else { links?.closeLink(address) }
        case .startRinging(let ringing): self.ringing.send(ringing)
        case .stopRinging: self.ringing.send(.none)
        case .restoreMedia(let address): musicReturns.send(address)
        case .setDeadline(let deadline): setDeadline(deadline)
        case .routeChanged(let old, let new, let reason):
            let from = old?.description ?? "none"
            logger.about(route: new?.device.description ?? "none").notice(
                "route: \(from) -> \(new?.description ?? "none") (\(reason.rawValue))")
            hardware?.routeChanged(to: new)
            pendingNotices.append(.routeChanged(old: old, new: new, reason))
        case .devicesChanged: pendingNotices.append(.devicesChanged)
        case .activationFailed(let address):
            logger.about(headset: address).warning(
                "no audio link to \(address) after all attempts: btcalld retries after a pause, or when it is selected")
            incidents?.activationFailed(address)
            pendingNotices.append(.activationFailed(address))
        case .selectionRefused(let device, let error): logger.notice("\(device) was not selected: \(error.rawValue)")
        }
    }

    private func open(_ route: Route) {
        if route == .local(.wiredHeadset) { setWiredMicrophone() }
        if case .local(let kind) = route { graph.openPath(kind) }
        if route.mode == .a2dp { graph.setStreamMicrophone(isSpoken: policy.input != .none) }
        graph.route(to: Self.endpoint(route))
    }

    /// Headphones without microphone are used with the board's microphone.
    private func setWiredMicrophone() { graph.setWiredMicrophone(policy.input != .builtinMic) }

    private func close(_ route: Route) {
        if case .local(let kind) = route { graph.closePath(kind) }
        // The new route is open already; without one the policy wants silence.
        if policy.current == nil { graph.route(to: nil) }
    }

    private static func endpoint(_ route: Route) -> AudioEndpoint {
        switch route {
        case .local(let kind): .local(kind)
        case .headset(let address, _): .headset(address)
        }
    }

    private func setDeadline(_ deadline: Instant?) {
        timer?.cancel()
        timer = deadline.map { deadline in
            ControlLoop.shared.schedule(at: deadline) { [weak self] in
                self?.timer = nil
                self?.handle(.deadlineReached)
            }
        }
    }
}
