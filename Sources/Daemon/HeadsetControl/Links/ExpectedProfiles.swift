package import BlueZ
package import BluetoothTypes
package import CallControl
package import ControlLoop
package import Diagnostics
package import Logging

/// Has bluetoothd connect the missing profiles of headsets that came back with only some of them; carries out what
/// `ProfileRepair` decides.
@ControlPlane
package final class ExpectedProfiles {
    /// Whether a profile that the headset directory does not know (A2DP) is up; nil: it is not wanted here. A test replaces
    /// it.
    package var isUp: @ControlPlane (BluetoothAddress, ServiceUUID) -> Bool?
    /// The missing profiles of a headset have changed.
    package let changes = Signal<BluetoothAddress>()

    private struct Watch {
        var repair: ProfileRepair
        var timer: Timer?
        var missing: [ServiceUUID] = []
    }

    private let registry: DeviceRegistry
    private let headsets: HeadsetDirectory
    private let profiles: VoiceProfiles
    private let calls: CallDirectory
    private let admission: LinkAdmission
    private let problems: ProblemList
    private let logger: Logger
    private var delays: ProfileRepair.Delays
    private var watches: [BluetoothAddress: Watch] = [:]
    private var isFollowing = false
    private var isStopped = false

    /// - Parameter delays: a `check` of zero switches the check off.
    package init(
        registry: DeviceRegistry, headsets: HeadsetDirectory, profiles: VoiceProfiles, music: MusicControl,
        calls: CallDirectory, admission: LinkAdmission, problems: ProblemList, delays: ProfileRepair.Delays,
        logger: Logger
    ) {
        self.registry = registry
        self.headsets = headsets
        self.profiles = profiles
        self.calls = calls
        self.admission = admission
        isUp = { [weak music] address, service in service == .audioSink ? music?.isUp(address) : nil }
        self.problems = problems
        self.delays = delays
        self.logger = logger
        registry.events.subscribe(self) { expected, _ in expected.follow() }
        profiles.changes.subscribe(self) { $0.follow() }
        calls.changes.subscribe(self) { expected, _ in expected.follow() }
        headsets.changes.subscribe(self) { expected, change in
            if case .dismissed(let address) = change { expected.dismissed(address) }
            expected.follow()
        }
        music.changes.subscribe(self) { expected, change in
            switch change {
            case .stream, .foreign: expected.follow()
            case .registered, .foreignMusic, .shown: break
            }
        }
    }

    // MARK: Events

    /// Schedules a check: a profile, a call, bluetoothd's devices or the served profiles may have changed.
    package func follow() {
        guard !isFollowing, !isStopped else { return }
        isFollowing = true
        // Once for all simultaneous changes, after the last of them.
        ControlLoop.shared.perform { [weak self] in self?.look() }
    }

    package func follow(_ new: ProfileRepair.Delays) {
        delays = new
        for address in watches.keys.sorted() { watches[address]?.repair.delays = new }
        follow()
    }

    /// The radio link has ended, if only for a moment.
    package func disconnected(_ address: BluetoothAddress) {
        update(address, nil)
    }

    /// A user or program disconnects the headset, or one of its profiles.
    private func dismissed(_ address: BluetoothAddress) {
        guard let actions = watches[address]?.repair.dismissed() else { return }
        perform(actions, address)
    }

    package func stop() {
        isStopped = true
        for watch in watches.values { watch.timer?.cancel() }
        watches = [:]
    }

    /// Names the profiles of a connected headset that do not come up, for people; nil: none.
    package func notice(of address: BluetoothAddress) -> String? {
        guard let missing = watches[address]?.missing, !missing.isEmpty else { return nil }
        return "its \(missing.map(Self.word).joined(separator: " and ")) does not come up"
    }

    // MARK: Facts

    private func look() {
        isFollowing = false
        guard !isStopped else { return }
        var seen: Set<BluetoothAddress> = []
        for device in registry.devices where device.connected && device.paired && !device.blocked {
            guard delays.check > .zero, seen.insert(device.address).inserted else { continue }
            if watches[device.address] == nil { watches[device.address] = Watch(repair: ProfileRepair(delays: delays)) }
            update(device.address, facts(of: device))
        }
        for address in watches.keys.sorted() where !seen.contains(address) { disconnected(address) }
    }

    private func facts(of device: DeviceRegistry.Device) -> [ProfileRepair.Fact] {
        var facts: [ProfileRepair.Fact] = []
        let isSettingUp = admission.isSettingUp
        // Of the two voice profiles only the better one is wanted.
        let voice = device.isHandsFree ? ServiceUUID.handsFree : .headset
        if device.uuids.contains(voice), profiles.serves(voice) {
            facts.append(.init(voice, headsets.presence(of: device.address), isDisturbing: isSettingUp))
        }
        let address = device.address
        if device.uuids.contains(.audioSink), let isUp = isUp(address, .audioSink) {
            // A2DP is of no use in a call, and connecting it could disturb the call's link.
            let isDisturbing = isSettingUp || !calls.calls.isEmpty
            facts.append(.init(.audioSink, isUp ? .up : .down, isDisturbing: isDisturbing))
        }
        return facts
    }

    private func update(_ address: BluetoothAddress, _ facts: [ProfileRepair.Fact]?) {
        guard let actions = watches[address]?.repair.update(facts, at: ControlLoop.now) else { return }
        if facts == nil { watches[address]?.timer?.cancel() }
        perform(actions, address)
    }

    // MARK: Steps

    private func perform(_ actions: [ProfileRepair.Action], _ address: BluetoothAddress) {
        for action in actions {
            switch action {
            case .setDeadline(let deadline): setDeadline(deadline, address)
            case .ask(let service, let number, let attempt): ask(service, address, number, attempt)
            case .repaired(let service):
                logger.notice("\(title(address)): its \(Self.word(service)) is up, as requested")
            case .missing(let service, let failure): begin(service, address, failure)
            case .over(let service): end(service, address)
            }
        }
    }

    private func setDeadline(_ deadline: Instant, _ address: BluetoothAddress) {
        watches[address]?.timer?.cancel()
        watches[address]?.timer = ControlLoop.shared.schedule(at: deadline) { [weak self] in
            guard let self, let actions = watches[address]?.repair.deadlineReached(at: ControlLoop.now) else { return }
            perform(actions, address)
        }
    }

    private func ask(_ service: ServiceUUID, _ address: BluetoothAddress, _ number: Int, _ attempt: Int) {
        let name = title(address)
        let word = Self.word(service)
        let again = attempt > 1 ? "still missing, requested again" : "missing, requested"
        logger.notice("\(name): connected, and its \(word) is \(again)")
        Task { @ControlPlane in
            let outcome: ProfileRepair.Outcome
            do throws(DeviceCallError) {
                try await registry.connectProfile(service, of: address)
                outcome = .done
            } catch {
                switch error {
                case .alreadyDone: outcome = .done
                case .inProgress: outcome = .inProgress
                case .serviceAbsent, .unknownDevice, .adapterOff, .profileUnavailable, .unreachable, .refused,
                    .notPaired, .cancelled, .timedOut, .notPermitted, .failed:
                    outcome = .failed(error)
                }
                logger.notice("\(name): its \(word): \(error)")
            }
            // Take note of the profiles that came up with it before judging the outcome.
            look()
            guard let actions = watches[address]?.repair.answered(number, outcome, at: ControlLoop.now) else { return }
            perform(actions, address)
        }
    }

    private func title(_ address: BluetoothAddress) -> String { "\(headsets.name(of: address)) (\(address))" }

    private func begin(_ service: ServiceUUID, _ address: BluetoothAddress, _ failure: DeviceCallError?) {
        watches[address]?.missing.append(service)
        let reason = failure.map { "\($0)" } ?? "bluetoothd reports success, but the profile is not up"
        problems.begin(
            Self.problem(service, address),
            what: "\(headsets.name(of: address)): its \(Self.word(service)) does not come up",
            remedy: "\(reason); btcalld retries when the headset connects again")
        changes.send(address)
    }

    private func end(_ service: ServiceUUID, _ address: BluetoothAddress) {
        watches[address]?.missing.removeAll { $0 == service }
        problems.end(Self.problem(service, address))
        changes.send(address)
    }

    private static func problem(_ service: ServiceUUID, _ address: BluetoothAddress) -> String {
        "profile.\(address).\(word(service))"
    }

    private static func word(_ service: ServiceUUID) -> String {
        switch service {
        case .handsFree: "HFP"
        case .headset: "HSP"
        case .audioSink: "A2DP"
        default: service.text
        }
    }
}
