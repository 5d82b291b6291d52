package import BlueZ
package import BluetoothTypes
package import Configuration
package import ControlLoop
package import Diagnostics
package import HeadsetPolicy
package import Logging

/// Reconnects known headsets that are away; carries out what `ReconnectManager` decides.
@ControlPlane
package final class Reconnector {
    /// The present facts.
    package struct Scene {
        package var facts: [ReconnectManager.Fact]
        package var isActive: Bool
        package var isBusy: Bool

        package init(facts: [ReconnectManager.Fact], isActive: Bool, isBusy: Bool) {
            self.facts = facts
            self.isActive = isActive
            self.isBusy = isBusy
        }
    }

    /// A headset's standing has changed.
    package let changes = Signal<Void>()

    private let registry: DeviceRegistry
    /// Queried when something may have changed.
    private let observer: ReconnectObserver
    private let problems: ProblemList
    private let store: ReconnectStore?
    private let writer: StateWriter
    private let ends: (any RadioLinkEnds)?
    private let logger: Logger
    private(set) var manager: ReconnectManager
    private var timer: Timer?
    private var isFollowing = false
    private var isStopped = false
    /// Controllers whose disconnection reasons are unavailable, already logged.
    private var withoutReasons: Set<String> = []

    /// - Parameters:
    ///   - store: nil saves nothing.
    ///   - ends: nil leaves bluetoothd as the only source of reasons.
    package init(
        registry: DeviceRegistry, observer: ReconnectObserver, problems: ProblemList, store: ReconnectStore?,
        writer: StateWriter,
        ends: (any RadioLinkEnds)?, settings: ReconnectManager.Settings, logger: Logger
    ) {
        self.writer = writer
        self.registry = registry
        self.observer = observer
        self.problems = problems
        self.store = store
        self.ends = ends
        self.logger = logger
        do throws(ConfigurationError) {
            manager = ReconnectManager(settings: settings, memories: try store?.load() ?? [:])
        } catch {
            logger.error("the reconnection state of headsets is not restored: \(error)")
            manager = ReconnectManager(settings: settings)
        }
        ends?.onEnd = { [weak self] address, code in
            self?.disconnected(address, DisconnectionReason(controllerError: code))
        }
        registry.events.subscribe(self) { reconnector, _ in reconnector.follow() }
        observer.changes.subscribe(self) { $0.follow() }
        observer.headsets.changes.subscribe(self) { $0.handle($1) }
    }

    private func handle(_ change: HeadsetDirectory.Change) {
        switch change {
        case .dismissed(let address): dismissed(address)
        case .freed(let address): freed(address)
        case .unpaired(let address): forget(address)
        default: follow()
        }
    }

    package func standing(of address: BluetoothAddress) -> ReconnectManager.Standing { manager.standing(of: address) }

    // MARK: Events

    /// Schedules a check: a connection, a call, bluetoothd's devices or the served profiles may have changed.
    private func follow() {
        guard !isFollowing, !isStopped else { return }
        isFollowing = true
        // Once for all simultaneous changes, after the last of them.
        ControlLoop.shared.perform { [weak self] in self?.look() }
    }

    package func follow(_ settings: ReconnectManager.Settings) {
        perform(manager.follow(settings, at: ControlLoop.now))
    }

    /// Takes all present controllers.
    package func adaptersChanged(_ adapters: [DeviceRegistry.Adapter]) {
        guard !isStopped, let ends else { return }
        let failures = ends.follow(adapters.filter(\.powered).map(\.controller))
        for (controller, error) in failures.sorted(by: { $0.key < $1.key }) where !withoutReasons.contains(controller) {
            logger.notice(
                """
                the reasons of disconnections are not available on \(controller): \(error); headsets that are \
                switched off are paged as if they were lost
                """)
        }
        withoutReasons = Set(failures.keys)
    }

    /// A headset's radio link has ended, with the reason.
    package func disconnected(_ address: BluetoothAddress, _ reason: DisconnectionReason) {
        guard !isStopped else { return }
        logger.debug("\(address): the radio link ended: \(reason.rawValue)")
        perform(manager.disconnected(address, reason, at: ControlLoop.now))
    }

    /// A user or program of this machine disconnects the headset, or one of its profiles.
    private func dismissed(_ address: BluetoothAddress) {
        guard !isStopped else { return }
        perform(manager.dismissed(address, at: ControlLoop.now))
    }

    /// btcalld disconnects a headset to free the controller.
    private func freed(_ address: BluetoothAddress) {
        guard !isStopped else { return }
        manager.freed(address, at: ControlLoop.now)
    }

    /// The headset is no longer paired.
    private func forget(_ address: BluetoothAddress) {
        guard !isStopped else { return }
        perform(manager.forget(address, at: ControlLoop.now))
    }

    package func stop() {
        isStopped = true
        timer?.cancel()
        timer = nil
        ends?.stop()
    }

    private func look() {
        isFollowing = false
        guard !isStopped else { return }
        let scene = observer.scene
        perform(manager.update(scene.facts, isActive: scene.isActive, isBusy: scene.isBusy, at: ControlLoop.now))
    }

    // MARK: Steps

    private func perform(_ actions: [ReconnectManager.Action]) {
        var isKept = true
        var isChanged = false
        for action in actions {
            switch action {
            case .setDeadline(let deadline):
                setDeadline(deadline)
                continue
            case .keep:
                isKept = false
                continue
            case .page(let address, let number, let attempt): page(address, number, attempt)
            case .cancel(let address): cancel(address)
            case .wait(let address, let until):
                let seconds = (ControlLoop.now.duration(to: until).milliseconds + 500) / 1000
                logger.info("\(title(address)): away, paged in \(seconds) s unless it connects or a call begins")
            case .returned(let address): logger.notice("\(title(address)): back after it was paged")
            case .leave(let address, let left): leave(address, left)
            case .quarantine(let address, let losses, let until): begin(address, losses, until)
            case .release(let address): problems.end(Self.problem(address))
            }
            isChanged = true
        }
        if !isKept { keep() }
        if isChanged { changes.send() }
    }

    private func setDeadline(_ deadline: Instant) {
        timer?.cancel()
        timer = ControlLoop.shared.schedule(at: deadline) { [weak self] in
            guard let self, !isStopped else { return }
            perform(manager.deadlineReached(at: ControlLoop.now))
        }
    }

    private func page(_ address: BluetoothAddress, _ number: Int, _ attempt: Int) {
        let name = title(address)
        logger.notice("\(name): paged, attempt \(attempt)")
        Task { @ControlPlane in
            let outcome: ReconnectManager.Outcome
            do throws(DeviceCallError) {
                try await observer.headsets.page(address)
                outcome = .done
            } catch {
                outcome = Self.outcome(error)
                if outcome != .cancelled { logger.info("\(name): not connected: \(error)") }
            }
            guard !isStopped else { return }
            // Take note of the profiles that came up with it before judging the outcome.
            look()
            perform(manager.answered(number, outcome, at: ControlLoop.now))
        }
    }

    private static func outcome(_ error: DeviceCallError) -> ReconnectManager.Outcome {
        switch error {
        case .alreadyDone: .done
        case .inProgress: .inProgress
        case .serviceAbsent, .unknownDevice, .adapterOff: .notTried
        case .notPaired: .notPaired
        case .cancelled: .cancelled
        case .profileUnavailable, .unreachable, .refused, .timedOut, .notPermitted, .failed: .failed
        }
    }

    /// bluetoothd answers at once, drops the connection, and has the controller end the page.
    private func cancel(_ address: BluetoothAddress) {
        logger.notice("\(title(address)): its page is given up")
        Task { @ControlPlane in
            do throws(DeviceCallError) {
                try await registry.disconnect(address)
            } catch {
                logger.debug("\(address): its page is not given up: \(error)")
            }
        }
    }

    private func title(_ address: BluetoothAddress) -> String { "\(observer.headsets.name(of: address)) (\(address))" }

    private func leave(_ address: BluetoothAddress, _ left: ReconnectManager.Left) {
        switch left {
        case .byHand:
            logger.notice("\(title(address)): disconnected on purpose, left alone until it connects or is connected")
        case .byHeadset:
            logger.notice("\(title(address)): it disconnected itself: waiting until it connects")
        }
    }

    private func begin(_ address: BluetoothAddress, _ losses: Int, _ until: Instant) {
        let seconds = max(ControlLoop.now.duration(to: until).milliseconds / 1000, 0)
        let count = losses > 0 ? "\(losses) times in two minutes" : "too often"
        problems.begin(
            Self.problem(address),
            what: "\(observer.headsets.name(of: address)) has come and gone \(count): it is left alone",
            remedy: """
                not paged for \(seconds) s, or until it connects on its own and stays; charge it, bring it nearer, or \
                switch it off (`btcall config bluetooth.reconnectLosses`)
                """)
    }

    private static func problem(_ address: BluetoothAddress) -> String { "reconnect.\(address)" }

    private func keep() {
        guard let store else { return }
        writer.write(store.text(manager.memories), to: store.file) { [problems] error in
            guard let error else { return problems.end("reconnectMemory") }
            problems.begin(
                "reconnectMemory",
                what: "the reconnection state of headsets is not saved: cannot write \(store.file.path): \(error)",
                remedy: "make the directory writable for the daemon's user (StateDirectory=btcall in the unit does)")
        }
    }
}
