package import BlueZ
package import BluetoothTypes
package import Configuration
package import ControlLoop
package import DBus
package import Diagnostics
package import HandsFree
package import Logging

/// The two profiles that carry voice, registered with bluetoothd: the hands-free and the Headset Profile's audio gateway.
/// What headsets connect by them goes to the directory.
@ControlPlane
package final class VoiceProfiles {
    /// One of them is registered, refused or taken back.
    package let changes = Signal<Void>()
    private let handsFree: ProfileRegistration
    private let headset: ProfileRegistration
    private let registry: DeviceRegistry
    private let headsets: HeadsetDirectory
    private let problems: ProblemList
    private let logger: Logger

    /// - Parameter gateway: whose features the service record shows.
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
        registration.retryInterval = configuration.waits.profile
        handsFree = ProfileRegistration(bus: bus, configuration: registration, logger: logger)
        registration = .headsetAudioGateway()
        registration.retryInterval = configuration.waits.profile
        headset = ProfileRegistration(bus: bus, configuration: registration, logger: logger)
        headsets.servesHeadsetProfile = configuration.headsetProfile
        serve(handsFree, .handsFree)
        serve(headset, .headset)
        handsFree.onState = { [weak self] state in self?.take(handsFree: state) }
        headset.onState = { [weak self] state in self?.take(headset: state) }
    }

    private func serve(_ registration: ProfileRegistration, _ profile: AudioGatewayConfiguration.Profile) {
        registration.onConnection = { [weak headsets] address, _, descriptor, _ throws(ConnectionRefusal) in
            try headsets?.connected(address, descriptor, by: profile)
        }
        registration.onDisconnectionRequest = { [weak headsets] address in headsets?.dismiss(address) }
    }

    /// Whether a headset's connection of the profile is taken now.
    package func serves(_ service: ServiceUUID) -> Bool {
        switch service {
        case .handsFree: handsFree.state == .registered
        case .headset: headsets.servesHeadsetProfile && headset.state == .registered
        default: false
        }
    }

    /// Whether bluetoothd has said what becomes of the hands-free profile.
    package var isAnswered: Bool {
        switch handsFree.state {
        case .registered, .refused, .stopped: true
        // Without Bluetooth there are the board's own devices.
        case .waitingForService: !registry.isServicePresent
        }
    }

    /// Registers the hands-free profile.
    package func start() { handsFree.start() }

    /// Registers the Headset Profile or takes it back. Headsets that are connected by it stay.
    ///
    /// - Parameter isActive: registers nothing before that.
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

    /// Takes both back; returns when bluetoothd has heard of it.
    package func stop() async {
        await handsFree.stop()
        await headset.stop()
    }

    private func take(handsFree state: ProfileRegistration.State) {
        switch state {
        case .stopped: problems.end("profile")
        case .waitingForService: break
        case .registered:
            problems.end("profile")
            logger.notice("the Audio Gateway is registered with bluetoothd")
        case .refused(let refusal):
            problems.begin("profile", what: "\(refusal)", remedy: "tried again by itself")
        }
        changes.send()
    }

    private func take(headset state: ProfileRegistration.State) {
        switch state {
        case .stopped, .registered: problems.end("headsetProfile")
        case .waitingForService: break
        case .refused(let refusal):
            problems.begin("headsetProfile", what: "\(refusal)", remedy: "tried again by itself")
        }
        changes.send()
    }
}
