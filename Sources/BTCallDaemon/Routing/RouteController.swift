package import BluetoothTypes
package import ControlLoop
package import Logging
package import Routing

/// Opens and closes the links that the policy asks for; the headset directory, or a test.
@ControlPlane
package protocol LinkOpening: AnyObject {
    /// The outcome comes back as `.linkOpened`, `.linkFailed` or, when it was cancelled, `.linkClosed`.
    ///
    /// - Parameter attempt: counted from 1 since the last link that lived.
    func openLink(_ address: BluetoothAddress, codecHint: VoiceCodec?, attempt: Int, timeout: Duration)
    /// Closes the link or cancels its set-up; `.linkClosed` comes back.
    func closeLink(_ address: BluetoothAddress)
}

/// Feeds the policy and carries out what it decides; takes no decision of its own.
@ControlPlane
package final class RouteController {
    package enum Notice {
        case routeChanged(old: Route?, new: Route?, RouteChangeReason)
        case devicesChanged
        case activationFailed(BluetoothAddress)
        /// Something that the bus shows may have changed.
        case stateChanged
    }

    package private(set) var policy: RoutingPolicy
    package var onNotice: (@ControlPlane (Notice) -> Void)?
    package weak var links: (any LinkOpening)?
    private let graph: AudioGraph
    private let logger: Logger
    private var timer: Timer?
    private var queue: [RoutingEvent] = []
    private var isHandling = false

    package init(policy: RoutingPolicy, graph: AudioGraph, logger: Logger) {
        self.policy = policy
        self.graph = graph
        self.logger = logger
    }

    /// Events that arise while one is being carried out are taken after it, so that no effect is overtaken.
    package func handle(_ event: RoutingEvent) {
        queue.append(event)
        guard !isHandling else { return }
        isHandling = true
        // The end of a change of the graph may report something, too.
        while !queue.isEmpty { graph.change { takeQueue() } }
        isHandling = false
        onNotice?(.stateChanged)
    }

    private func takeQueue() {
        while !queue.isEmpty {
            let event = queue.removeFirst()
            logger.trace("routing event: \(event)")
            for effect in policy.handle(event, at: ControlLoop.now) { perform(effect) }
        }
    }

    /// Says why a selection would be refused, before it is made.
    package func refusal(ofSelecting device: AudioDevice) -> RoutingError? { policy.refusal(ofSelecting: device) }

    private func perform(_ effect: RoutingEffect) {
        switch effect {
        case .openPath(let route): open(route)
        case .closePath(let route): close(route)
        case .refreshPath: break
        case .openLink(let address, _, let codecHint, let attempt):
            logger.info("opening the audio link to \(address), attempt \(attempt)")
            links?.openLink(
                address, codecHint: codecHint, attempt: attempt, timeout: policy.configuration.openTimeout)
        case .closeLink(let address): links?.closeLink(address)
        case .startRinging, .stopRinging, .restoreMedia: break
        case .setDeadline(let deadline): setDeadline(deadline)
        case .routeChanged(let old, let new, let reason):
            let from = old?.description ?? "none"
            logger.notice("route: \(from) -> \(new?.description ?? "none") (\(reason.rawValue))")
            onNotice?(.routeChanged(old: old, new: new, reason))
        case .devicesChanged: onNotice?(.devicesChanged)
        case .activationFailed(let address):
            logger.warning(
                "no audio link to \(address) after all attempts: tried again after a pause, or when selected")
            onNotice?(.activationFailed(address))
        case .selectionRefused(let device, let error): logger.notice("\(device) was not selected: \(error.rawValue)")
        }
    }

    private func open(_ route: Route) {
        if case .local(let kind) = route { graph.openPath(kind) }
        graph.route(to: Self.endpoint(route))
    }

    private func close(_ route: Route) {
        if case .local(let kind) = route { graph.closePath(kind) }
        // What replaces it has been opened before; nothing has when the policy wants silence.
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
