package import AudioPaths
package import BlueZ
package import ControlLoop
package import Diagnostics
import Routing

/// What bluetoothd says of itself, its adapters and its devices, for the parts that have to hear of it in an order.
@ControlPlane
package final class BluetoothWatch {
    /// Begins to take links that headsets open, once an adapter is on: what is wrong with that, if anything.
    package typealias Listen = @ControlPlane () -> (what: String, remedy: String)?

    private let registry: DeviceRegistry
    private let headsets: HeadsetDirectory
    private let expectedProfiles: ExpectedProfiles
    private let reconnector: Reconnector
    private let voiceRouting: VoiceRouting
    private let router: any RouteDeciding
    private let listen: Listen
    private let hasLocalDevices: Bool
    private let patience: Duration
    private let problems: ProblemList
    private var isPowered = true
    /// bluetoothd has just appeared and may list its adapters later.
    private var adapterGrace: Timer?
    private var pairingCheck: Timer?

    /// - Parameters:
    ///   - hasLocalDevices: the configuration has sections for devices of the board.
    ///   - patience: for adapters, and then devices, to come to the bus.
    package init(
        registry: DeviceRegistry, headsets: HeadsetDirectory, expectedProfiles: ExpectedProfiles,
        reconnector: Reconnector, voiceRouting: VoiceRouting, router: any RouteDeciding, listen: @escaping Listen,
        hasLocalDevices: Bool, patience: Duration, problems: ProblemList
    ) {
        self.registry = registry
        self.headsets = headsets
        self.expectedProfiles = expectedProfiles
        self.reconnector = reconnector
        self.voiceRouting = voiceRouting
        self.router = router
        self.listen = listen
        self.hasLocalDevices = hasLocalDevices
        self.patience = patience
        self.problems = problems
        registry.events.subscribe(self) { $0.take($1) }
    }

    package func stop() {
        adapterGrace?.cancel()
        pairingCheck?.cancel()
    }

    private func take(_ event: DeviceRegistry.Event) {
        switch event {
        case .serviceAppeared:
            problems.end("bluetoothd")
            awaitAdapters()
        case .serviceMissing, .serviceVanished: noteMissingService()
        case .adapterChanged, .adapterRemoved:
            noteAdapters()
            checkPairingsLater()
        case .deviceChanged(let device): headsets.describe(device)
        case .deviceRemoved(let address):
            headsets.closeSession(address, "bluetoothd has forgotten it")
            headsets.forget(address)
        case .deviceDisconnected(let address, let reason):
            // Why the link ended decides whether the headset is paged again: that is known before its session is over.
            expectedProfiles.disconnected(address)
            if let reason { reconnector.disconnected(address, reason) }
            headsets.closeSession(address, "the radio link ended")
        }
    }

    private func awaitAdapters() {
        adapterGrace?.cancel()
        adapterGrace = ControlLoop.shared.schedule(after: patience) { [weak self] in
            self?.adapterGrace = nil
            self?.noteAdapters()
        }
        noteAdapters()
        checkPairingsLater()
    }

    /// Devices come to the bus after their adapter: which of them are missing shows later, counted from the last news of it.
    private func checkPairingsLater() {
        pairingCheck?.cancel()
        pairingCheck = ControlLoop.shared.schedule(after: patience) { [weak self] in
            self?.pairingCheck = nil
            self?.headsets.forgetUnpaired()
        }
    }

    private func noteMissingService() {
        problems.begin(
            "bluetoothd", what: "bluetoothd is not on the bus",
            remedy: "start it (`systemctl start bluetooth`)"
                + (hasLocalDevices ? "; calls use local devices meanwhile" : "; no other device is configured"))
        problems.end("adapter")
        adapterGrace?.cancel()
        adapterGrace = nil
        voiceRouting.adaptersChanged([])
    }

    private func noteAdapters() {
        guard registry.isServicePresent else { return }
        voiceRouting.adaptersChanged(registry.adapters)
        reconnector.adaptersChanged(registry.adapters)
        let powered = registry.adapters.contains(where: \.powered)
        // bluetoothd comes to the bus before its adapters do. Links that outlived it are not over for that.
        if registry.adapters.isEmpty, adapterGrace != nil { return }
        if powered {
            problems.end("adapter")
        } else if registry.adapters.isEmpty {
            problems.begin(
                "adapter", what: "there is no Bluetooth adapter",
                remedy: "plug one in, or see `dmesg` why the kernel does not take it")
        } else {
            problems.begin(
                "adapter", what: "the Bluetooth adapter is off",
                remedy: "switch it on (`bluetoothctl power on`); if that fails, `rfkill unblock bluetooth`")
        }
        if powered != isPowered {
            isPowered = powered
            router.handle(.adapterPowered(powered))
        }
        guard powered else { return }
        if let problem = listen() {
            problems.begin("sco", what: problem.what, remedy: problem.remedy)
        } else {
            problems.end("sco")
        }
    }
}
