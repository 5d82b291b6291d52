import BTCall
import ControlLoop

/// Keeps a ``LiveView`` up to date: requests the state after each event, and regularly where there are no events.
@ControlPlane
final class StatusFollower {
    /// Triggers of requests other than events.
    enum Manner {
        /// Nothing.
        case events
        /// In a call, levels four times a second and quality once; time once a second.
        case live
    }

    private(set) var view: LiveView
    private let bridge: CallBridge
    private let manner: Manner
    private let onChange: @ControlPlane (LiveView) -> Void
    /// Whether btcalld is on the bus: otherwise it is not asked, as that could start a stopped daemon.
    private var isDaemonThere = false
    private var isAsking = false
    private var mustAskAgain = false
    private var isAskingLevels = false
    private var ticks = 0

    init(
        _ bridge: CallBridge, _ manner: Manner, _ first: LiveView.Bridge,
        onChange: @escaping @ControlPlane (LiveView) -> Void
    ) {
        self.bridge = bridge
        self.manner = manner
        self.onChange = onChange
        view = LiveView(first, now: .now)
        if case .present = first { isDaemonThere = true }
    }

    /// Follows until the task is cancelled.
    func run(_ events: AsyncStream<BridgeEvent>) async {
        changed()
        ask()
        var clock: Task<Void, Never>?
        if manner == .live {
            clock = Task { @ControlPlane [weak self] in
                while !Task.isCancelled {
                    await ControlLoop.shared.sleep(for: .milliseconds(250))
                    self?.tick()
                }
            }
        }
        for await event in events {
            switch event {
            case .daemonAppeared:
                isDaemonThere = true
                ask()
            case .daemonVanished:
                isDaemonThere = false
                forget("btcalld has left the bus")
            case .routeChanged, .activationFailed, .callAdded, .incomingCall, .callStateChanged, .callStatusChanged,
                .callQualityChanged, .callRemoved, .mutedChanged, .callRecordedChanged, .devicesChanged,
                .problemsChanged, .stateChanged, .settingChanged, .mediaChangeRequested, .cameraSettingsChanged:
                ask()
            case .callTalkChanged, .doNotDisturbChanged, .speakingWhileMuted, .recordingDenied, .recordingRequested,
                .buttonPressed,
                .headsetEvent,
                .headsetChanged:
                break
            }
        }
        clock?.cancel()
    }

    func toggleMute() {
        guard case .present(let status) = view.bridge else { return }
        Task { @ControlPlane in
            do throws(BridgeError) {
                try await bridge.calls.setMuted(!status.isMuted)
                view.notice = nil
            } catch {
                view.notice = error.message
            }
            changed()
        }
    }

    // MARK: Asking

    private func tick() {
        ticks += 1
        guard isDaemonThere, case .present(let status) = view.bridge, !status.calls.isEmpty else {
            if ticks % 4 == 0 { changed() }
            return
        }
        askLevels()
        if ticks % 4 == 0 {
            ask()
            changed()
        }
    }

    /// Makes one request at a time; events meanwhile cause one more.
    private func ask() {
        guard isDaemonThere else { return }
        guard !isAsking else {
            mustAskAgain = true
            return
        }
        isAsking = true
        view.askedAt = .now
        Task { @ControlPlane [weak self] in
            guard let self else { return }
            repeat {
                mustAskAgain = false
                await askOnce()
            } while mustAskAgain && isDaemonThere
            isAsking = false
            view.askedAt = nil
            changed()
            guard isDaemonThere, case .absent = view.bridge else { return }
            // It is present and cannot answer yet.
            ControlLoop.shared.schedule(after: .seconds(1)) { [weak self] in self?.ask() }
        }
    }

    private func askOnce() async {
        do throws(BridgeError) {
            let status = try await bridge.status()
            let explanation = try await bridge.audioDeviceManager.explain()
            guard isDaemonThere else { return }
            view.bridge = .present(status)
            view.explanation = explanation.text
            view.decision = explanation
            if status.calls.isEmpty { view.levels = nil }
        } catch {
            forget(error.message)
        }
    }

    private func askLevels() {
        guard !isAskingLevels else { return }
        isAskingLevels = true
        Task { @ControlPlane [weak self] in
            guard let self else { return }
            // A daemon without levels has none: the rest of the view says what is wrong with it.
            let levels = try? await bridge.audio.levels()
            isAskingLevels = false
            guard case .present = view.bridge else { return }
            view.levels = levels
            changed()
        }
    }

    private func forget(_ message: String) {
        view.bridge = .absent(message)
        view.explanation = []
        view.decision = nil
        view.levels = nil
        view.notice = nil
        changed()
    }

    private func changed() {
        view.now = .now
        onChange(view)
    }
}
