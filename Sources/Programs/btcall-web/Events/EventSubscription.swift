import ControlLoop
import JSONText

/// One client that follows the events: over a WebSocket, or as server-sent events.
@ControlPlane
final class EventSubscription {
    /// Interval of signs of life to peers on the network, whose connections may end unnoticed.
    private static let signInterval = Duration.seconds(30)
    /// Events that wait for the present state.
    private static let mostWaiting = 256

    private let outlet: WebOutlet
    private(set) var principal: WebPrincipal
    var wantsLevels: Bool
    /// Events since the present state was asked for; nil once it was sent.
    private var waiting: [JSON]? = []
    private var expiry: Timer?
    private var sign: Timer?
    private(set) var isCancelled = false

    /// - Parameter keepsAlive: sends signs of life.
    init(_ outlet: WebOutlet, _ principal: WebPrincipal, wantsLevels: Bool, keepsAlive: Bool) {
        self.outlet = outlet
        self.principal = principal
        self.wantsLevels = wantsLevels
        if keepsAlive { scheduleSign() }
        scheduleExpiry()
    }

    /// Replaces the token.
    func accept(_ principal: WebPrincipal) {
        self.principal = principal
        scheduleExpiry()
    }

    /// Holds events back until ``present(_:)``.
    func awaitPresent() {
        if waiting == nil { waiting = [] }
    }

    func present(_ json: JSON) {
        let events = waiting ?? []
        waiting = nil
        write(json)
        for event in events { write(event) }
    }

    /// - Parameter text: makes the text once for all clients that see callers.
    func send(_ event: JSON, _ text: () -> String) {
        guard waiting == nil else {
            // A client that misses events gets what they led to with the present state.
            if waiting?.count ?? 0 < Self.mostWaiting { waiting?.append(event) }
            return
        }
        outlet.send(principal.seesCallers ? text() : CallerPrivacy.hidden(event).text())
    }

    func write(_ json: JSON) {
        outlet.send((principal.seesCallers ? json : CallerPrivacy.hidden(json)).text())
    }

    func cancel() {
        isCancelled = true
        expiry?.cancel()
        sign?.cancel()
    }

    private func scheduleSign() {
        sign = ControlLoop.shared.schedule(after: Self.signInterval) { [weak self] in
            guard let self, !isCancelled else { return }
            outlet.sendSign()
            scheduleSign()
        }
    }

    private func scheduleExpiry() {
        expiry?.cancel()
        expiry = nil
        guard let end = principal.expiresAt else { return }
        let left = Duration.milliseconds(max(0, end * 1000 - WallClock.now.milliseconds))
        expiry = ControlLoop.shared.schedule(after: left) { [weak self] in
            self?.outlet.close(4002, "the token has expired")
        }
    }
}
