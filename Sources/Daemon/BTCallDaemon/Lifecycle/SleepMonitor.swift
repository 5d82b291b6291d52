package import AudioPaths
package import CallControl
package import ControlLoop
package import DBus
package import Logging

/// Closes the audio before the board sleeps (`org.freedesktop.login1.Manager`: `PrepareForSleep`, `Inhibit`).
///
/// While logind runs, btcalld holds a delay lock. When logind announces sleep, an interruption begins, and btcalld releases
/// the lock as soon as every device and link is closed. After the sleep the interruption ends and btcalld takes the next
/// lock. Without logind nothing happens.
@ControlPlane
package final class SleepMonitor {
    private static let service = "org.freedesktop.login1"
    private static let path = "/org/freedesktop/login1"
    private static let interface = "org.freedesktop.login1.Manager"
    /// The longest time to delay sleep while devices are still open; logind itself waits 5 s.
    private static let closeTimeout = Duration.seconds(2)

    private let bus: BusConnection
    private let interruptions: Interruptions
    private let graph: AudioGraph
    private let logger: Logger
    private var subscriptions: [Subscription] = []
    /// The unique name of logind.
    private var owner: String?
    private var lock: PassedDescriptor?
    private var isPreparing = false
    private var overdue: Timer?

    package init(bus: BusConnection, interruptions: Interruptions, graph: AudioGraph, logger: Logger) {
        self.bus = bus
        self.interruptions = interruptions
        self.graph = graph
        self.logger = logger
        graph.quiet.subscribe(self) { $0.quiet() }
        subscriptions = [
            bus.subscribe(
                sender: Self.service, path: Self.path, interface: Self.interface, member: "PrepareForSleep"
            ) { [weak self] signal in
                guard let isComing = signal.arguments.first?.boolValue else { return }
                self?.sleepAnnounced(isComing)
            },
            bus.watchName(Self.service) { [weak self] owner in self?.ownerChanged(owner) },
        ]
    }

    package func stop() {
        for subscription in subscriptions { subscription.cancel() }
        subscriptions = []
        releaseLock()
    }

    private func ownerChanged(_ owner: String?) {
        self.owner = owner
        releaseLock()
        guard let owner else {
            // Without logind nothing reports the end of the sleep.
            sleepAnnounced(false)
            return
        }
        Task { @ControlPlane in
            await acquireLock(from: owner)
            await askWhetherPreparing(owner)
        }
    }

    private func sleepAnnounced(_ isComing: Bool) {
        guard isComing != isPreparing else { return }
        isPreparing = isComing
        guard isComing else {
            interruptions.end(Interruptions.suspend)
            guard let owner, lock == nil else { return }
            Task { @ControlPlane in await acquireLock(from: owner) }
            return
        }
        logger.notice("the board is going to sleep: audio is closed")
        interruptions.begin(Interruptions.suspend)
        if graph.isQuiet {
            releaseLock()
        } else {
            overdue = ControlLoop.shared.schedule(after: Self.closeTimeout) { [weak self] in self?.releaseLock() }
        }
    }

    private func quiet() {
        if isPreparing { releaseLock() }
    }

    private func releaseLock() {
        overdue?.cancel()
        overdue = nil
        lock = nil
    }

    private func acquireLock(from expected: String) async {
        let arguments: [Value] = ["sleep", "btcalld", "closes the audio of calls", "delay"]
        do throws(BusError) {
            let descriptor = try await bus.call(expected, Self.path, Self.interface, "Inhibit", arguments).first?
                .descriptorValue
            // Meanwhile logind may have left the bus, or announced sleep without waiting for btcalld.
            guard owner == expected, !isPreparing else { return }
            lock = descriptor
        } catch {
            logger.notice("the board's sleep does not wait until audio is closed: logind refuses a lock: \(error)")
        }
    }

    /// Covers a btcalld that started while the board was going to sleep.
    private func askWhetherPreparing(_ expected: String) async {
        do throws(BusError) {
            let value = try await bus.call(
                expected, Self.path, "org.freedesktop.DBus.Properties", "Get",
                [.string(Self.interface), "PreparingForSleep"]
            ).first
            guard owner == expected, value?.boolValue == true else { return }
            sleepAnnounced(true)
        } catch {
            logger.debug("logind does not say whether the board is going to sleep: \(error)")
        }
    }
}
