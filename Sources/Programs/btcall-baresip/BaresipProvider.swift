import BTCall
import BaresipControl
import BluetoothTypes
import ControlLoop
import Logging
import Telephony

/// A call in btcalld, not `Telephony`'s, which is baresip's here.
typealias BridgeCall = BTCall.Call

/// Makes the calls of a running baresip calls of btcalld: carries out what `BaresipFollower` decides.
///
/// baresip is followed while btcalld is active, and registered as a provider while it is there. Its calls' audio is what
/// baresip plays and records through the ALSA PCM: only their states and what headsets and clients want go through here.
@ControlPlane
final class BaresipProvider: BTCall.CallProvider {
    /// One thing to tell btcalld. They go one after the other, in the order in which baresip said them.
    enum Report {
        case appeared
        case added(BaresipFollower.CallKey, CallDirection, BaresipPeer)
        case changed(BaresipFollower.CallKey, CallState)
        case vanished
    }

    static let offer: CallProviderDescription = {
        var description = CallProviderDescription(name: "baresip", capabilities: [.hold, .dtmf, .mute, .dial])
        description.audio = .pcm
        description.schemes = ["sip", "sips", "tel"]
        return description
    }()

    let bridge: CallBridge
    let logger: Logger
    let settings: BaresipSettings
    private let notifier = ServiceNotifier()
    var follower: BaresipFollower
    private var timer: Timer?
    private var connection: BaresipConnection?
    private var isHoldSaid = false

    /// Nil: not known yet.
    private var isBridgeActive: Bool?
    var registration: ProviderRegistration?
    /// Why the last registration failed; said once.
    var refusal: String?
    /// Runs until registering is tried again.
    private var retry: Timer?
    /// The first one is under way.
    var reports: [Report] = []
    var isReporting = false
    /// Changes with each registration that ends: what was to be told before is void.
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

    /// Follows baresip whenever btcalld is active; returns when the bridge is closed.
    func run() async {
        if !settings.control.isLoopback {
            logger.warning(
                "baresip at \(settings.control) is on another machine: anybody on the way can hear and end its calls")
        }
        for await state in await bridge.states() {
            let isActive = state == .active
            if !isActive, isBridgeActive != false { logger.info("btcalld is not active: baresip waits for it") }
            isBridgeActive = isActive
            reconsider()
        }
    }

    /// Follows from now on, or no more. A registration outlives a restart of the bus: while there is one, its end is awaited.
    func reconsider() {
        if isBridgeActive == true {
            if retry == nil { carryOut(follower.start(at: ControlLoop.now)) }
        } else if registration == nil {
            carryOut(follower.stop())
            notifier.status("btcalld is not active")
        }
    }

    /// Leaves baresip and begins again after a pause, in which btcalld may get over what it refused with.
    func retreat(for pause: Duration) {
        retry?.cancel()
        retry = ControlLoop.shared.schedule(after: pause) { [weak self] in
            self?.retry = nil
            self?.reconsider()
        }
        carryOut(follower.stop())
    }

    /// btcalld has ended the registration, and its calls with it; those in baresip go on.
    func ended() {
        logger.notice("btcalld has gone, or has been deactivated: baresip's calls go on without it")
        registration = nil
        clear()
        // Until its state is known: asking a btcalld that ends would start it again.
        retreat(for: .seconds(1))
    }

    /// Leaves both: baresip's calls go on there and end in btcalld.
    func stop() async {
        isBridgeActive = false
        retry?.cancel()
        carryOut(follower.stop())
        await bridge.close()
    }

    /// Nothing that was to be told is told.
    private func clear() {
        generation += 1
        reports = []
        calls = [:]
        wakeRequests()
    }

    // MARK: Requests

    /// - Returns: nil for a call that baresip does not have any more.
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

    /// Asks baresip for something and returns when that is done.
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
        case .following:
            logger.notice("following baresip at \(place)")
            notifier.status("following baresip at \(place)")
            guard !isHoldSaid else { return }
            isHoldSaid = true
            logger.info("baresip does not tell when the far end holds a call: such a call stays active here")
        case .away(let reason):
            logger.notice("baresip at \(place) is not there (\(reason)); it is looked for every 1 to 30 s")
            notifier.status("baresip at \(place) is not there: \(reason)")
        case .stranger(let reason):
            logger.warning(
                """
                what listens at \(place) is not baresip's ctrl_tcp: \(reason); it is left alone for 30 s at a time: see \
                control in /etc/btcall/baresip.conf, and ctrl_tcp_listen in baresip's configuration
                """)
            notifier.status("what listens at \(place) is not baresip")
        case .odd(let what): logger.warning("baresip at \(place): \(what)")
        }
    }
}
