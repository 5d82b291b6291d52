import BTCall
import BaresipControl
import ControlLoop
import Logging
import Telephony

// Reports of baresip's calls to btcalld.
extension BaresipProvider {
    /// Most attempts at a report, one a second, while the bus or btcalld is away: longer than the library waits for them (60
    /// s).
    private static let mostAttempts = 70
    private static let attemptPause = Duration.seconds(1)
    /// Pause after btcalld has refused the registration.
    private static let refusalPause = Duration.seconds(10)

    func report(_ report: Report) {
        reports.append(report)
        guard !isReporting else { return }
        isReporting = true
        Task { @ControlPlane in await tellAll() }
    }

    private func tellAll() async {
        while let report = reports.first {
            let began = generation
            await tell(report)
            // Otherwise the list has started over meanwhile.
            if generation == began, !reports.isEmpty { reports.removeFirst() }
            wakeRequests()
        }
        isReporting = false
    }

    private func tell(_ report: Report) async {
        let began = generation
        for _ in 0..<Self.mostAttempts {
            do throws(BridgeError) {
                return try await tellOnce(report)
            } catch {
                guard generation == began, !ended(report, error) else { return }
            }
            await ControlLoop.shared.sleep(for: Self.attemptPause)
            guard generation == began else { return }
        }
        logger.warning("btcalld refuses baresip's reports: btcall-baresip reports everything again")
        // Ends the registration, too.
        retreat(for: Self.refusalPause)
    }

    private func tellOnce(_ report: Report) async throws(BridgeError) {
        switch report {
        case .appeared: try await register()
        case .added(let key, let direction, let peer):
            guard let registration else { return }
            let began = generation
            let number = peer.number ?? ""
            let call =
                switch direction {
                case .incoming: try await registration.reportIncoming(number: number, name: peer.name, media: media)
                case .outgoing: try await registration.reportOutgoing(number: number, name: peer.name, media: media)
                }
            if generation == began { calls[call] = key }
        case .changed(let key, let state):
            guard let registration, let call = calls.first(where: { $0.value == key })?.key,
                let (word, reason) = state.reported
            else { return }
            try await registration.update(call, word, reason: reason)
            if state.isEnded { calls[call] = nil }
        case .vanished:
            guard let ending = registration else { return }
            registration = nil
            defer { reconsider() }
            try await ending.unregister()
        }
    }

    private func register() async throws(BridgeError) {
        let began = generation
        let made = try await bridge.register(self, as: offer)
        guard generation == began else {
            // baresip or btcalld has gone meanwhile; without btcalld there is nothing to end.
            try? await made.unregister()
            return
        }
        registration = made
        refusal = nil
    }

    /// Whether btcalld has refused permanently; otherwise it or the bus is away temporarily.
    private func ended(_ report: Report, _ error: BridgeError) -> Bool {
        switch report {
        case .appeared:
            if refusal != error.message { logger.warning("btcalld refuses baresip's calls: \(error.message)") }
            refusal = error.message
            retreat(for: Self.refusalPause)
            return true
        case .added(let key, let direction, _):
            if error.isPassing { return false }
            logger.notice("btcalld refuses a call of baresip: \(error.message)")
            if direction == .incoming { carryOut(follower.refuse(key, at: ControlLoop.now)) }
            return true
        case .changed(let key, let state):
            // Repeating an update is harmless; reporting a call twice would make two calls.
            if error.isPassing || error.code == .timedOut { return false }
            if state.isEnded { calls = calls.filter { $0.value != key } }
            // btcalld has already ended a call that was ended from here.
            logger.debug("a call of baresip cannot become \(state): \(error.message)")
            return true
        case .vanished:
            logger.debug("baresip's calls cannot be withdrawn: \(error.message)")
            return true
        }
    }
}

extension BridgeError {
    /// Whether the bus or btcalld is away, or has not restored the registration yet afterwards.
    fileprivate var isPassing: Bool {
        [.noBus, .notRunning, .notProvider, .noSuchProvider].contains(code)
    }
}

extension CallState {
    /// The state as a provider reports it; nil when btcalld decides it itself.
    fileprivate var reported: (state: BridgeCall.State, reason: BridgeCall.EndReason?)? {
        switch self {
        case .setup, .dialing, .incoming, .waiting: nil
        case .alerting: (.alerting, nil)
        case .active: (.active, nil)
        case .held: (.held, nil)
        case .ended(let reason): (.ended, BridgeCall.EndReason(rawValue: reason.rawValue) ?? .error)
        }
    }
}
