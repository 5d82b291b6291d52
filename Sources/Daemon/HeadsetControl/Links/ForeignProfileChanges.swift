package import AudioPaths
package import BlueZ
import BluetoothTypes
import BoardControl
package import CallControl
package import ControlLoop
package import Diagnostics
import HandsFree
package import Logging
import Routing

/// Connects a headset's voice profile again when another program disconnects it during a call, and stops after the third
/// time within ten seconds; the time while it is disconnected does not count.
///
/// bluetoothd announces the end of one profile and of the whole headset in the same way; for the whole headset it ends the
/// radio link two seconds later. So only a headset that stays connected longer has lost its profile to another program.
/// Without a call, and for a headset that would not get the call, a disconnection is somebody's intention.
@ControlPlane
package final class ForeignProfileChanges {
    private struct Contest {
        var changes = ForeignChangeGuard()
        let service: ServiceUUID
        /// When the profile was last disconnected; nil: it is connected.
        var releasedAt: Instant?
        /// Time without the profile so far, apart from the present one.
        var downtime = Duration.zero
        /// Runs until bluetoothd would have ended the radio link.
        var timer: Timer?
        /// The profile was disconnected by another program; it is connected when no link is being set up.
        var isDue = false
        /// Why the profile stays down; nil: it does not.
        var fault: Fault?
    }

    private enum Fault {
        case left
        case failed(DeviceCallError)
    }

    private let registry: DeviceRegistry
    private let headsets: HeadsetDirectory
    private let calls: CallDirectory
    private let admission: LinkAdmission
    private let router: any RouteDeciding
    private let problems: ProblemList
    private let logger: Logger
    private let timeout: Duration
    private var contests: [BluetoothAddress: Contest] = [:]

    /// - Parameter timeout: how long bluetoothd may take from the end of the profiles to the end of the radio link.
    package init(
        registry: DeviceRegistry, headsets: HeadsetDirectory, calls: CallDirectory, admission: LinkAdmission,
        router: any RouteDeciding, timeout: Duration, problems: ProblemList, logger: Logger
    ) {
        self.registry = registry
        self.headsets = headsets
        self.calls = calls
        self.admission = admission
        self.router = router
        self.timeout = timeout
        self.problems = problems
        self.logger = logger
        headsets.releases.subscribe(self) { $0.released($1) }
        headsets.changes.subscribe(self) { foreign, change in
            if case .session(let address) = change { foreign.sessionChanged(address) }
        }
        registry.events.subscribe(self) { foreign, event in
            switch event {
            case .deviceDisconnected(let address, _), .deviceRemoved(let address): foreign.end(address)
            case .serviceVanished: foreign.stop()
            case .serviceAppeared, .serviceMissing, .adapterChanged, .adapterRemoved, .deviceChanged: break
            }
        }
        admission.events.subscribe(self) { foreign, event in
            if case .idle = event { foreign.connectDue() }
        }
        router.notices.subscribe(self) { foreign, notice in
            if case .refreshed = notice { foreign.refresh() }
        }
    }

    /// Remarks for `btcall why`.
    package var notes: [String] {
        contests.keys.sorted().compactMap { address in
            guard let contest = contests[address], case .left = contest.fault else { return nil }
            return
                "\(headsets.name(of: address)): another program disconnected its \(Self.word(contest.service))"
                + " \(ForeignChangeGuard.limit) times within \(ForeignChangeGuard.window.components.seconds) s of"
                + " connection, left disconnected until the headset connects again or Refresh"
        }
    }

    package func stop() {
        for address in contests.keys.sorted() { end(address) }
    }

    // MARK: Events

    /// bluetoothd is about to disconnect the voice profile, at the request of somebody on this machine.
    private func released(_ address: BluetoothAddress) {
        guard let session = headsets.sessions[address], isOfUse(address) else { return }
        let service: ServiceUUID = session.profile == .handsFree ? .handsFree : .headset
        var contest = contests[address] ?? Contest(service: service)
        contest.releasedAt = ControlLoop.now
        contest.timer?.cancel()
        contest.timer = ControlLoop.shared.schedule(after: timeout) { [weak self] in self?.outlived(address) }
        contests[address] = contest
    }

    /// Whether the headset carries the call, or would get it: also while it has to be stable for some time.
    private func isOfUse(_ address: BluetoothAddress) -> Bool {
        guard !calls.calls.isEmpty, !headsets.disconnecting.contains(address) else { return false }
        let explanation = router.policy.explain(at: ControlLoop.now)
        if [explanation.route, explanation.pending, explanation.target].contains(where: { $0?.address == address }) {
            return true
        }
        for finding in explanation.levels {
            if finding.candidate?.address == address { return true }
            if finding.level == explanation.chosen { break }
        }
        return false
    }

    private func outlived(_ address: BluetoothAddress) {
        contests[address]?.timer = nil
        guard isMissing(address), let contest = contests[address], let releasedAt = contest.releasedAt else { return }
        switch contests[address]?.changes.changed(at: releasedAt.advanced(by: .zero - contest.downtime)) {
        case .reassert:
            contests[address]?.isDue = true
            connectDue()
        case .yield:
            logger.about(headset: address).warning(
                "foreign-change: \(title(address)): another program disconnected its \(word(address)), left to it")
            fail(
                address, .left, what: "another program keeps disconnecting its \(word(address)) during the call",
                remedy: "stop that program, or have it leave the headset alone (`busctl monitor org.bluez` shows who"
                    + " calls DisconnectProfile); then `btcall headset connect \(address)`")
        case .ignore, nil: break
        }
    }

    /// Whether the headset is connected without its voice profile during a call.
    private func isMissing(_ address: BluetoothAddress) -> Bool {
        !calls.calls.isEmpty && registry.device(address)?.connected == true
            && headsets.presence(of: address) == .down && !headsets.disconnecting.contains(address)
    }

    private func sessionChanged(_ address: BluetoothAddress) {
        guard headsets.presence(of: address) == .up else { return }
        // Somebody connected it meanwhile.
        guard var contest = contests[address], contest.fault == nil else { return end(address) }
        contest.isDue = false
        if let releasedAt = contest.releasedAt { contest.downtime += releasedAt.duration(to: ControlLoop.now) }
        contest.releasedAt = nil
        contests[address] = contest
    }

    private func refresh() {
        for address in contests.keys.sorted() where contests[address]?.fault != nil {
            contests[address]?.changes.reset()
            contests[address]?.fault = nil
            problems.end(Self.problem(address))
            contests[address]?.isDue = isMissing(address)
        }
        connectDue()
    }

    private func end(_ address: BluetoothAddress) {
        guard let contest = contests.removeValue(forKey: address) else { return }
        contest.timer?.cancel()
        problems.end(Self.problem(address))
    }

    // MARK: Steps

    /// A page would disturb the set-up of another link.
    private func connectDue() {
        guard !admission.isSettingUp else { return }
        for address in contests.keys.sorted() where contests[address]?.isDue == true {
            contests[address]?.isDue = false
            if isMissing(address) { connect(address) }
        }
    }

    private func connect(_ address: BluetoothAddress) {
        guard let service = contests[address]?.service else { return }
        let word = Self.word(service)
        logger.about(headset: address).notice(
            "foreign-change: \(title(address)): \(word) disconnected by another program, connected again")
        Task { @ControlPlane in
            do throws(DeviceCallError) {
                try await registry.connectProfile(service, of: address)
            } catch .alreadyDone, .inProgress {
                return
            } catch {
                guard contests[address] != nil, isMissing(address) else { return }
                fail(
                    address, .failed(error),
                    what: "another program disconnected its \(word) during the call, and it does not connect again",
                    remedy: "\(error)")
            }
        }
    }

    private func fail(_ address: BluetoothAddress, _ fault: Fault, what: String, remedy: String) {
        contests[address]?.fault = fault
        problems.begin(Self.problem(address), what: "\(headsets.name(of: address)): \(what)", remedy: remedy)
    }

    private func title(_ address: BluetoothAddress) -> String { "\(headsets.name(of: address)) (\(address))" }

    private func word(_ address: BluetoothAddress) -> String {
        Self.word(contests[address]?.service ?? .handsFree)
    }

    private static func word(_ service: ServiceUUID) -> String { service == .headset ? "HSP" : "HFP" }

    private static func problem(_ address: BluetoothAddress) -> String { "profile.\(address).foreign" }
}
