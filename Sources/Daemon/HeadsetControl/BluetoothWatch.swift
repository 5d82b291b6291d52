package import AudioPaths
package import BlueZ
package import ControlLoop
package import Diagnostics
import Routing

/// Passes on what bluetoothd reports about itself, its adapters and its devices, in the order in which the components need
/// it.
@ControlPlane
package final class BluetoothWatch {
    /// Starts to accept links that headsets open, once an adapter is on; returns the problem, nil if it works.
    package typealias Listen = @ControlPlane () -> (what: String, remedy: String)?

    private let registry: DeviceRegistry
    private let headsets: HeadsetDirectory
    private let expectedProfiles: ExpectedProfiles
    private let reconnector: Reconnector
    private let voiceRouting: VoiceRouting
    private let router: any RouteDeciding
    private let listen: Listen
    private let hasLocalDevices: Bool
    private let appearanceTimeout: Duration
    private let problems: ProblemList
    private var isPowered = true
    /// bluetoothd has just appeared and may list its adapters later.
    private var adapterGrace: Timer?
    private var pairingCheck: Timer?

    /// - Parameters:
    ///   - hasLocalDevices: the configuration has sections for devices of the board.
    ///   - appearanceTimeout: how long to wait for adapters, and then devices, to appear on the bus.
    package init(
        registry: DeviceRegistry, headsets: HeadsetDirectory, expectedProfiles: ExpectedProfiles,
        reconnector: Reconnector, voiceRouting: VoiceRouting, router: any RouteDeciding, listen: @escaping Listen,
        hasLocalDevices: Bool, appearanceTimeout: Duration, problems: ProblemList
    ) {
        self.registry = registry
        self.headsets = headsets
        self.expectedProfiles = expectedProfiles
        self.reconnector = reconnector
        self.voiceRouting = voiceRouting
        self.router = router
        self.listen = listen
        self.hasLocalDevices = hasLocalDevices
        self.appearanceTimeout = appearanceTimeout
        self.problems = problems
        registry.events.subscribe(self) { $0.handle($1) }
    }

    package func stop() {
        adapterGrace?.cancel()
        pairingCheck?.cancel()
    }

    private func handle(_ event: DeviceRegistry.Event) {
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
            // The reason why the link ended decides whether the headset is paged again: report it before the session ends.
            expectedProfiles.disconnected(address)
            if let reason { reconnector.disconnected(address, reason) }
            headsets.closeSession(address, "the radio link ended")
        }
    }

    private func awaitAdapters() {
        adapterGrace?.cancel()
        adapterGrace = ControlLoop.shared.schedule(after: appearanceTimeout) { [weak self] in
            self?.adapterGrace = nil
            self?.noteAdapters()
        }
        noteAdapters()
        checkPairingsLater()
    }

    /// Devices appear on the bus after their adapter. The missing ones are looked for some time after the last change of an
    /// adapter.
    private func checkPairingsLater() {
        pairingCheck?.cancel()
        pairingCheck = ControlLoop.shared.schedule(after: appearanceTimeout) { [weak self] in
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
        // bluetoothd appears on the bus before its adapters. Links that outlived its restart stay open meanwhile.
        if registry.adapters.isEmpty, adapterGrace != nil { return }
        if powered {
            problems.end("adapter")
        } else if registry.adapters.isEmpty {
            problems.begin(
                "adapter", what: "there is no Bluetooth adapter",
                remedy: "plug one in, or see `dmesg` for why the kernel does not accept it")
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
