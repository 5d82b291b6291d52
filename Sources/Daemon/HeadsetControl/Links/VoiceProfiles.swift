package import BlueZ
package import BluetoothTypes
package import Configuration
package import ControlLoop
package import DBus
package import Diagnostics
package import HandsFree
package import Logging

/// Registers the two voice profiles with bluetoothd: the audio gateways of the Hands-Free and the Headset Profile. Passes
/// connections of headsets to the directory.
@ControlPlane
package final class VoiceProfiles {
    /// A profile was registered, refused or withdrawn.
    package let changes = Signal<Void>()
    private let handsFree: ProfileRegistration
    private let headset: ProfileRegistration
    private let registry: DeviceRegistry
    private let headsets: HeadsetDirectory
    private let problems: ProblemList
    private let logger: Logger

    /// - Parameter gateway: source of the features in the service record.
    package init(
        _ configuration: Configuration, gateway: AudioGatewayConfiguration, bus: BusConnection,
        registry: DeviceRegistry, headsets: HeadsetDirectory, problems: ProblemList, logger: Logger
    ) {
        self.registry = registry
        self.headsets = headsets
        self.problems = problems
        self.logger = logger
        var registration = ProfileRegistration.Configuration.handsFreeAudioGateway(features: gateway.sdpFeatures)
        registration.version = gateway.version.rawValue
        registration.retryInterval = configuration.timeouts.profile
        handsFree = ProfileRegistration(bus: bus, configuration: registration, logger: logger)
        registration = .headsetAudioGateway()
        registration.retryInterval = configuration.timeouts.profile
        headset = ProfileRegistration(bus: bus, configuration: registration, logger: logger)
        headsets.servesHeadsetProfile = configuration.headsetProfile
        serve(handsFree, .handsFree)
        serve(headset, .headset)
        handsFree.onState = { [weak self] state in self?.handsFreeChanged(state) }
        headset.onState = { [weak self] state in self?.headsetChanged(state) }
    }

    private func serve(_ registration: ProfileRegistration, _ profile: AudioGatewayConfiguration.Profile) {
        registration.onConnection = { [weak headsets] address, _, descriptor, _ throws(ConnectionRefusal) in
            try headsets?.connected(address, descriptor, by: profile)
        }
        registration.onDisconnectionRequest = { [weak headsets] address in headsets?.dismiss(address) }
    }

    /// Whether connections of the profile are accepted now.
    package func serves(_ service: ServiceUUID) -> Bool {
        switch service {
        case .handsFree: handsFree.state == .registered
        case .headset: headsets.servesHeadsetProfile && headset.state == .registered
        default: false
        }
    }

    /// Whether bluetoothd has answered the registration of the Hands-Free Profile.
    package var isAnswered: Bool {
        switch handsFree.state {
        case .registered, .refused, .stopped: true
        // Without Bluetooth the board's own devices remain.
        case .waitingForService: !registry.isServicePresent
        }
    }

    /// Registers the Hands-Free Profile.
    package func start() { handsFree.start() }

    /// Registers or withdraws the Headset Profile. Headsets that are connected by it stay connected.
    ///
    /// - Parameter isActive: while false, nothing is registered.
    package func serveHeadsetProfile(_ isWanted: Bool, isActive: Bool) {
        if headsets.servesHeadsetProfile != isWanted {
            headsets.servesHeadsetProfile = isWanted
            for device in registry.devices { headsets.describe(device) }
            headsets.forgetUnpaired()
        }
        guard isActive else { return }
        if isWanted {
            headset.start()
        } else {
            Task { @ControlPlane in await headset.stop() }
        }
    }

    /// Withdraws both profiles; returns when bluetoothd has confirmed it.
    package func stop() async {
        await handsFree.stop()
        await headset.stop()
    }

    private func handsFreeChanged(_ state: ProfileRegistration.State) {
        switch state {
        case .stopped: problems.end("profile")
        case .waitingForService: break
        case .registered:
            problems.end("profile")
            logger.notice("the Audio Gateway is registered with bluetoothd")
        case .refused(let refusal):
            problems.begin("profile", what: "\(refusal)", remedy: "btcalld retries automatically")
        }
        changes.send()
    }

    private func headsetChanged(_ state: ProfileRegistration.State) {
        switch state {
        case .stopped, .registered: problems.end("headsetProfile")
        case .waitingForService: break
        case .refused(let refusal):
            problems.begin("headsetProfile", what: "\(refusal)", remedy: "btcalld retries automatically")
        }
        changes.send()
    }
}
