package import BTCallAPI
package import BlueZ
package import BluetoothTypes
package import CallControl
package import ControlLoop
package import DBus
package import HeadsetPolicy
package import Logging

/// Pairing without a screen: carries out the decisions of `PairingWindow` with bluetoothd.
///
/// While a window is open this process is bluetoothd's default agent, and the adapter is pairable and discoverable;
/// afterwards the earlier settings are restored. Every step is a line in the log that begins with `pairing:`.
@ControlPlane
package final class PairingControl {
    /// A device that a search has found.
    package struct Found: Equatable, Sendable {
        package let address: BluetoothAddress
        package let name: String?
        /// dBm
        package let rssi: Int
        /// `HFP`, `HSP` and `A2DP`; empty also if the device has not announced its profiles.
        package let profiles: [String]
    }

    package enum Event {
        case stateChanged
        /// A search has begun or ended.
        case searchingChanged
        case found(Found)
        case finished(PairingWindow.Result)
    }

    package let events = Signal<Event>()
    package let registry: DeviceRegistry
    private let calls: CallDirectory
    private let admission: LinkAdmission
    package let logger: Logger
    private let agent: PairingAgent
    private let light: PairingLight
    private var window = PairingWindow()
    private var timer: Timer?
    /// Adapter of the window and of the search.
    private var adapterPath: String?
    /// The adapter's visibility before the window.
    private var before: (path: String, visibility: DeviceRegistry.Visibility)?
    private var closing: Task<Void, Never>?
    private var discovery: Task<Void, Never>?
    private var wantsDiscovery = false
    /// The adapter that is searching for us.
    private var discoveringPath: String?
    private var reported: [BluetoothAddress: Found] = [:]
    private var isFollowing = false
    private var isOpening = false
    private var reportedState = PairingState.closed
    private var reportedSearching = false

    package init(
        bus: BusConnection, registry: DeviceRegistry, calls: CallDirectory, admission: LinkAdmission,
        light: PairingLight, logger: Logger
    ) {
        self.registry = registry
        self.calls = calls
        self.admission = admission
        self.light = light
        self.logger = logger
        agent = PairingAgent(bus: bus, logger: logger)
        agent.onRequest = { [weak self] address, request in
            self?.asked(address, request) ?? .reject(reason: "btcalld is leaving")
        }
        agent.onCancelled = { [weak self] in self?.audit("bluetoothd cancelled its request") }
        registry.events.subscribe(self) { pairing, event in
            pairing.follow()
            if event == .serviceVanished { pairing.serviceVanished() }
        }
        calls.changes.subscribe(self) { pairing, _ in pairing.follow() }
        admission.events.subscribe(self) { pairing, _ in pairing.follow() }
    }

    // MARK: Requests

    package var state: PairingState { window.state }

    package var isSearching: Bool { window.isDiscovering }

    /// Time left in s until the open window closes; 0 without a window.
    package var secondsLeft: Int {
        guard let deadline = window.deadline else { return 0 }
        return max(0, Int((ControlLoop.now.duration(to: deadline).milliseconds + 999) / 1000))
    }

    private static func rules(_ allow: [String], _ pin: String?) throws(APIError) -> PairingRules {
        do throws(PairingRules.Refusal) {
            return try PairingRules(allow: allow, pin: pin)
        } catch {
            throw APIError(.invalidArgument, error.description)
        }
    }

    /// Opens a window; returns when bluetoothd has agreed.
    ///
    /// - Parameters:
    ///   - allow: addresses and patterns of names; empty: any audio device.
    ///   - searchesInCall: whether to search and page during a call too.
    ///   - who: for the log.
    /// - Throws: `invalidArgument`, `wrongState` while a window is open, `unavailable` without bluetoothd or adapter.
    package func open(
        seconds: Int, allow: [String], pin: String? = nil, searchesInCall: Bool = false, by who: String
    ) async throws(APIError) {
        try check(seconds)
        let rules = try Self.rules(allow, pin)
        guard window.state == .closed, !isOpening else {
            throw APIError(
                .wrongState,
                "a pairing window is open already, for \(secondsLeft) s more: close it first (`Pairing1.Close`)")
        }
        let adapter = try radio()
        if let addresses = rules.onlyAddresses, addresses.allSatisfy({ registry.device($0)?.paired ?? false }) {
            let list = addresses.map(\.description).joined(separator: ", ")
            throw APIError(
                .wrongState, "\(list) is paired already: `btcall headset forget ADDRESS` first to pair it again")
        }
        isOpening = true
        defer { isOpening = false }
        await closing?.value
        do throws(PairingError) {
            let visibility = try await registry.visibility(ofAdapter: adapter.path)
            try await agent.register()
            before = (adapter.path, visibility)
            // The timeout ends discoverability if this process dies before it can restore the setting.
            try await registry.setVisibility(
                .init(pairable: true, discoverable: true, discoverableTimeout: UInt32(clamping: seconds)),
                ofAdapter: adapter.path)
        } catch {
            await restore()
            throw APIError(.unavailable, "the pairing window cannot be opened: \(error)")
        }
        guard registry.isServicePresent else {
            throw APIError(.unavailable, "the pairing window cannot be opened: \(PairingError.serviceAbsent)")
        }
        adapterPath = adapter.path
        reported = [:]
        look()
        perform(
            window.open(
                for: .seconds(seconds), rules, searchesInCall: searchesInCall, by: who, at: ControlLoop.now))
    }

    /// - Throws: `wrongState` without a window.
    package func close(by who: String) throws(APIError) {
        guard window.state != .closed else {
            throw APIError(.wrongState, "no pairing window is open: `btcall headset pair` opens one")
        }
        perform(window.close(by: who, at: ControlLoop.now))
    }

    /// Searches for devices and reports them.
    ///
    /// - Throws: as `open`; `callsActive` during a call.
    package func scan(seconds: Int, by who: String) throws(APIError) {
        try check(seconds)
        let adapter = try radio()
        guard calls.calls.isEmpty else {
            throw APIError(
                .callsActive,
                "searching for devices would disturb the call: end it first (`btcall hangup`), or pair a headset that "
                    + "begins itself (`btcall headset pair`, with --search to search during the call too)")
        }
        if window.state == .closed { adapterPath = adapter.path }
        reported = [:]
        look()
        perform(window.scan(for: .seconds(seconds), by: who, at: ControlLoop.now))
    }

    private func check(_ seconds: Int) throws(APIError) {
        guard PairingRules.seconds.contains(seconds) else {
            throw APIError(.invalidArgument, "seconds is \(seconds); accepted: 1 to 600")
        }
    }

    private func radio() throws(APIError) -> DeviceRegistry.Adapter {
        guard registry.isServicePresent else {
            throw APIError(
                .unavailable, "bluetoothd is not on the bus: start it (`systemctl start bluetooth`)")
        }
        guard let adapter = registry.adapters.first(where: \.powered) else {
            throw APIError(
                .unavailable, "no Bluetooth adapter is on: plug one in, or switch it on (`bluetoothctl power on`)")
        }
        return adapter
    }

    // MARK: Events

    /// Schedules a check: a device, an adapter or a call may have changed.
    private func follow() {
        guard !isFollowing, window.isSearching || before != nil else { return }
        isFollowing = true
        ControlLoop.shared.perform { [weak self] in
            self?.isFollowing = false
            self?.look()
        }
    }

    /// bluetoothd has left the bus.
    private func serviceVanished() {
        wantsDiscovery = false
        discoveringPath = nil
        perform(window.lost("bluetoothd has left the bus", at: ControlLoop.now))
    }

    /// Ends everything and restores the adapter.
    package func stop() async {
        perform(window.close(by: "btcalld, which ends", at: ControlLoop.now))
        perform(window.lost("btcalld ends", at: ControlLoop.now))
        wantsDiscovery = false
        followDiscovery()
        await discovery?.value
        await closing?.value
        timer?.cancel()
        light.stop()
    }

    private func look() {
        guard registry.isServicePresent else { return }
        // Restore what could not be restored while bluetoothd was away.
        if let before, window.state == .closed, !isOpening, closing == nil,
            registry.adapter(path: before.path) != nil
        {
            giveBack()
        }
        guard let adapterPath else { return }
        if window.isSearching, registry.adapter(path: adapterPath)?.powered != true {
            wantsDiscovery = false
            discoveringPath = nil
            perform(window.lost("the Bluetooth adapter is off or gone", at: ControlLoop.now))
        }
        let known = registry.devices.filter { $0.adapterPath == adapterPath && !$0.blocked }
        if window.isSearching { known.forEach(report) }
        perform(
            window.update(
                known.map(Self.fact), hasCall: !calls.calls.isEmpty, isSettingUp: admission.isSettingUp,
                at: ControlLoop.now))
    }

    private static func fact(_ device: DeviceRegistry.Device) -> PairingWindow.Device {
        let isAudio: Bool? =
            if device.classOfDevice.isAudio || !profiles(device).isEmpty {
                true
            } else {
                device.classOfDevice.bits == 0 && device.uuids.isEmpty ? nil : false
            }
        return .init(
            device.address, name: device.announcedName, rssi: device.rssi, isAudio: isAudio, isPaired: device.paired,
            isConnected: device.connected)
    }

    private static func profiles(_ device: DeviceRegistry.Device) -> [String] {
        [(device.isHandsFree, "HFP"), (device.isHeadset, "HSP"), (device.isAudioSink, "A2DP")]
            .filter(\.0).map(\.1)
    }

    /// Reports each device once, and again when its name or profiles become known.
    private func report(_ device: DeviceRegistry.Device) {
        guard let rssi = device.rssi else { return }
        let found = Found(
            address: device.address, name: device.announcedName, rssi: rssi, profiles: Self.profiles(device))
        let old = reported[device.address]
        guard old?.name != found.name || old?.profiles != found.profiles || old == nil else { return }
        reported[device.address] = found
        events.send(.found(found))
    }

    private func asked(_ address: BluetoothAddress, _ request: PairingRequest) -> PairingAnswer {
        // Take in what bluetoothd knew about the device when it asked.
        look()
        let (answer, actions) = window.asked(address, request, at: ControlLoop.now)
        perform(actions)
        return answer
    }

    package func audit(_ line: String) { logger.notice("pairing: \(line)") }

    // MARK: Steps

    private func perform(_ actions: [PairingWindow.Action]) {
        for action in actions {
            switch action {
            case .audit(let line): audit(line)
            case .setDeadline(let deadline): setDeadline(deadline)
            case .startDiscovery, .stopDiscovery:
                wantsDiscovery = action == .startDiscovery
                followDiscovery()
            case .pair(let address, let number):
                run(number) { control in await control.pair(address) }
            case .trust(let address, let number):
                run(number) { control in await control.trust(address) }
            case .connect(let address, let number):
                run(number) { control in await control.connect(address) }
            case .cancelPairing(let address): registry.cancelPairing(address)
            case .dropBond(let address): dropBond(of: address)
            case .close: giveBack()
            case .finished(let result): events.send(.finished(result))
            }
        }
        if window.isDiscovering != reportedSearching {
            reportedSearching = window.isDiscovering
            events.send(.searchingChanged)
        }
        guard window.state != reportedState else { return }
        reportedState = window.state
        light.show(reportedState)
        events.send(.stateChanged)
    }

    private func setDeadline(_ deadline: Instant) {
        timer?.cancel()
        timer = ControlLoop.shared.schedule(at: deadline) { [weak self] in
            guard let self else { return }
            perform(window.deadlineReached(at: ControlLoop.now))
        }
    }

    private func run(_ number: Int, _ step: @escaping @ControlPlane (PairingControl) async -> PairingWindow.Answer) {
        Task { @ControlPlane [weak self] in
            guard let self else { return }
            let answer = await step(self)
            perform(window.answered(number, answer, at: ControlLoop.now))
        }
    }

    private func pair(_ address: BluetoothAddress) async -> PairingWindow.Answer {
        await discovery?.value
        do throws(PairingError) {
            try await registry.pair(address)
            return .done
        } catch {
            // The device was first.
            return error == .alreadyPaired ? .done : .failed("\(error)")
        }
    }

    private func trust(_ address: BluetoothAddress) async -> PairingWindow.Answer {
        do throws(PairingError) {
            try await registry.setTrusted(true, address)
            return .done
        } catch {
            return .failed("\(error)")
        }
    }

    private func connect(_ address: BluetoothAddress) async -> PairingWindow.Answer {
        do throws(DeviceCallError) {
            try await registry.connect(address)
            return .done
        } catch {
            // The device connects of its own accord.
            return error == .alreadyDone || error == .inProgress ? .done : .failed("\(error)")
        }
    }

    // MARK: Searching

    /// Starts or stops the search as wanted; one request at a time.
    private func followDiscovery() {
        guard discovery == nil, (discoveringPath != nil) != wantsDiscovery else { return }
        discovery = Task { @ControlPlane [weak self] in
            await self?.changeDiscovery()
            self?.discovery = nil
        }
    }

    private func changeDiscovery() async {
        while registry.isServicePresent, (discoveringPath != nil) != wantsDiscovery {
            do throws(PairingError) {
                if let path = discoveringPath {
                    discoveringPath = nil
                    try await registry.stopDiscovery(onAdapter: path)
                } else if let path = adapterPath {
                    try await registry.startDiscovery(onAdapter: path)
                    discoveringPath = path
                }
            } catch {
                if !wantsDiscovery {
                    logger.debug("the search was not ended: \(error)")
                } else if error == .inProgress {
                    // Our own search, left from a cancelled attempt.
                    discoveringPath = adapterPath
                } else {
                    wantsDiscovery = false
                    perform(window.discoveryFailed("\(error)", at: ControlLoop.now))
                }
            }
        }
    }

    // MARK: The adapter

    private func giveBack() {
        guard closing == nil else { return }
        closing = Task { @ControlPlane [weak self] in
            await self?.restore()
            self?.closing = nil
        }
    }

    /// Removes the agent and restores the adapter; later if bluetoothd is away.
    private func restore() async {
        await agent.unregister()
        guard let before else { return }
        do throws(PairingError) {
            try await registry.setVisibility(before.visibility, ofAdapter: before.path)
            self.before = nil
        } catch {
            switch error {
            case .serviceAbsent: logger.debug("the adapter is restored when bluetoothd is back")
            default:
                self.before = nil
                logger.warning("the adapter is not as it was before the pairing window: \(error)")
            }
        }
    }
}
