import BTCall
import BaresipControl
import BluetoothTypes
import ControlLoop
import Logging
import Telephony

/// A call of btcalld; `Telephony`'s call is baresip's here.
typealias BridgeCall = BTCall.Call

/// Makes the calls of a running baresip available in btcalld: carries out the decisions of `BaresipFollower`.
///
/// It follows baresip while btcalld is active, and is registered as a provider while baresip runs. baresip plays and records
/// its calls' audio through the ALSA PCM: only states, and requests from headsets and clients, pass through here.
@ControlPlane
final class BaresipProvider: BTCall.CallProvider {
    /// One report to btcalld. Reports are sent one after the other, in baresip's order.
    enum Report {
        case appeared
        case added(BaresipFollower.CallKey, CallDirection, BaresipPeer)
        case changed(BaresipFollower.CallKey, CallState)
        case vanished
    }

    var offer: CallProviderDescription {
        var description = CallProviderDescription(name: "baresip", capabilities: [.hold, .dtmf, .mute, .dial])
        if settings.video != .off { description.capabilities.insert(.video) }
        description.audio = .pcm
        description.schemes = ["sip", "sips", "tel"]
        return description
    }
    /// Media of each call of baresip.
    var media: CallMedia { CallMedia(video: CallMedia.Direction(rawValue: settings.video.rawValue) ?? .off) }

    let bridge: CallBridge
    let logger: Logger
    let settings: BaresipSettings
    private let notifier = ServiceNotifier()
    var follower: BaresipFollower
    private var timer: Timer?
    private var connection: BaresipConnection?

    /// Nil while unknown.
    private var isBridgeActive: Bool?
    var registration: ProviderRegistration?
    /// Reason why the last registration failed; logged once.
    var refusal: String?
    /// Runs until the next attempt to register.
    private var retry: Timer?
    /// The first report is in progress.
    var reports: [Report] = []
    var isReporting = false
    /// Incremented when a registration ends: earlier reports are void.
    private(set) var generation = 0
    var calls: [BridgeCall.ID: BaresipFollower.CallKey] = [:]
    /// Requests for a call whose report has not returned its id yet.
    private var waiting: [CheckedContinuation<Void, Never>] = []
    private var nextRequest: UInt64 = 1
    private var completions: [BaresipFollower.RequestID: CheckedContinuation<BaresipFollower.Failure?, Never>] = [:]

    init(_ settings: BaresipSettings, on bridge: CallBridge, logger: Logger) {
        self.settings = settings
        self.bridge = bridge
        self.logger = logger
        follower = BaresipFollower(account: settings.account)
    }

    // MARK: btcalld

    /// Follows baresip while btcalld is active; returns when the bridge is closed.
    func run() async {
        if !settings.control.isLoopback {
            logger.warning(
                "baresip at \(settings.control) is on another machine: anybody on the network path can observe and end its calls"
            )
        }
        for await state in await bridge.states() {
            let isActive = state == .active
            if !isActive, isBridgeActive != false { logger.info("btcalld is not active: waiting for it") }
            isBridgeActive = isActive
            reconsider()
        }
    }

    /// Starts or stops following. A registration survives a restart of the bus: while there is one, this waits for its end.
    func reconsider() {
        if isBridgeActive == true {
            if retry == nil { carryOut(follower.start(at: ControlLoop.now)) }
        } else if registration == nil {
            carryOut(follower.stop())
            notifier.status("btcalld is not active")
        }
    }

    /// Disconnects from baresip and starts over after a pause, in which the reason of btcalld's refusal may disappear.
    func retreat(for pause: Duration) {
        retry?.cancel()
        retry = ControlLoop.shared.schedule(after: pause) { [weak self] in
            self?.retry = nil
            self?.reconsider()
        }
        carryOut(follower.stop())
    }

    /// btcalld has ended the registration and its calls; the calls in baresip continue.
    func ended() {
        logger.notice("btcalld has gone, or has been deactivated: baresip's calls continue without it")
        registration = nil
        clear()
        // Waits until btcalld's state is known: asking a btcalld that is ending would start it again.
        retreat(for: .seconds(1))
    }

    /// Disconnects from both: the calls continue in baresip and end in btcalld.
    func stop() async {
        isBridgeActive = false
        retry?.cancel()
        carryOut(follower.stop())
        await bridge.close()
    }

    /// Drops all pending reports.
    private func clear() {
        generation += 1
        reports = []
        calls = [:]
        wakeRequests()
    }

    // MARK: Requests

    /// - Returns: nil for a call that baresip no longer has.
    func key(of call: BridgeCall.ID) async -> BaresipFollower.CallKey? {
        while calls[call] == nil, isReportingCall { await withCheckedContinuation { waiting.append($0) } }
        return calls[call]
    }

    private var isReportingCall: Bool {
        guard isReporting, case .added = reports.first else { return false }
        return true
    }

    func wakeRequests() {
        let woken = waiting
        waiting = []
        for continuation in woken { continuation.resume() }
    }

    /// Sends a request to baresip and returns when it is done.
    func perform(
        _ begin: (BaresipFollower.RequestID) -> [BaresipFollower.Action]
    ) async -> BaresipFollower.Failure? {
        let id = BaresipFollower.RequestID(nextRequest)
        nextRequest += 1
        return await withCheckedContinuation { continuation in
            completions[id] = continuation
            carryOut(begin(id))
        }
    }

    // MARK: baresip

    func carryOut(_ actions: [BaresipFollower.Action]) {
        for action in actions {
            switch action {
            case .connect: connect()
            case .disconnect: disconnect()
            case .send(let command, let parameters, let token):
                connection?.write(BaresipMessage.command(command, parameters, token: token))
            case .appeared: report(.appeared)
            case .vanished: vanished()
            case .added(let key, let direction, let peer, _): report(.added(key, direction, peer))
            case .changed(let key, let state): report(.changed(key, state))
            case .completed(let id, let failure): completions.removeValue(forKey: id)?.resume(returning: failure)
            case .note(let notice): say(notice)
            }
        }
        schedule()
    }

    private func vanished() {
        let isRegistered = registration != nil
        clear()
        if isRegistered { report(.vanished) }
    }

    private func schedule() {
        let deadline = follower.deadline
        guard deadline != timer?.deadline || timer?.isPending != true else { return }
        timer?.cancel()
        timer = deadline.map { deadline in
            ControlLoop.shared.schedule(at: deadline) { [weak self] in
                guard let self else { return }
                carryOut(follower.deadlineReached(at: ControlLoop.now))
            }
        }
    }

    private func connect() {
        disconnect()
        connection = BaresipConnection(to: settings.control) { [weak self] event in
            guard let self else { return }
            let now = ControlLoop.now
            switch event {
            case .connected: carryOut(follower.connected(at: now))
            case .received(let bytes): carryOut(follower.received(bytes, at: now))
            case .ended(let reason): carryOut(follower.disconnected(reason, at: now))
            }
        }
    }

    private func disconnect() {
        connection?.close()
        connection = nil
    }

    private func say(_ notice: BaresipFollower.Notice) {
        let place = settings.control
        switch notice {
        case .following(let release):
            let name = release.map { "baresip \($0.rawValue)" } ?? "baresip"
            logger.notice("following \(name) at \(place)\(release.map { ": \($0.limits)" } ?? "")")
            notifier.status("following \(name) at \(place)")
        case .away(let reason):
            logger.notice("baresip at \(place) cannot be reached (\(reason)): retrying every 1 to 30 s")
            notifier.status("baresip at \(place) cannot be reached: \(reason)")
        case .stranger(let reason):
            logger.warning(
                """
                the program at \(place) is not baresip's ctrl_tcp: \(reason); btcall-baresip retries every 30 s: see \
                control in /etc/btcall/baresip.conf, and ctrl_tcp_listen in baresip's configuration
                """)
            notifier.status("the program at \(place) is not baresip")
        case .odd(let what): logger.warning("baresip at \(place): \(what)")
        }
    }
}
