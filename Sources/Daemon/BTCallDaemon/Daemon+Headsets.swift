import BTCallAPI
package import BlueZ
package import BluetoothTypes
import BusObjects
import CallControl
package import Configuration
import ControlLoop
package import DBus
import Diagnostics
package import HandsFree
package import HeadsetControl
package import Logging
import Telephony

// What concerns headsets and only some of them: the Headset Profile, buttons without a call, what is remembered.
extension Daemon {
    package static func headsetProfile(
        _ configuration: Configuration, _ bus: BusConnection, _ logger: Logger
    ) -> ProfileRegistration {
        var registration = ProfileRegistration.Configuration.headsetAudioGateway()
        registration.retryInterval = configuration.waits.profile
        return ProfileRegistration(bus: bus, configuration: registration, logger: logger)
    }

    package static func codecMemories(
        _ configuration: Configuration, _ writer: StateWriter, _ logger: Logger
    ) -> CodecMemories {
        CodecMemories(
            store: configuration.stateDirectory.map { CodecMemoryStore(directory: $0) }, codecs: configuration.codecs,
            writer: writer, logger: logger)
    }

    /// The adapter that a headset is known to.
    package func adapterPath(of address: BluetoothAddress) -> String? { registry.device(address)?.adapterPath }

    package func joinHeadsetProfile() {
        headsets.servesHeadsetProfile = configuration.headsetProfile
        headsetProfile.onState = { [weak self] state in self?.take(headsetProfile: state) }
        headsetProfile.onConnection = { [weak self] address, _, descriptor, _ throws(ConnectionRefusal) in
            try self?.headsets.connected(address, descriptor, by: .headset)
        }
        headsetProfile.onDisconnectionRequest = { [weak self] address in
            self?.dismissed(address)
            self?.headsets.closeSession(address, "a user of this machine disconnected it")
        }
        headsets.codecMemories.onKept = { [weak self] problem in
            guard let problem else {
                self?.problems.end("codecMemory")
                return
            }
            self?.problems.begin(
                "codecMemory", what: "what is learnt of the codecs of headsets is not kept: \(problem)",
                remedy: "make the directory writable for the daemon's user (StateDirectory=btcall in the unit does)")
        }
    }

    /// Registers the Headset Profile or takes it back, as the configuration says now. Headsets that are connected by it stay.
    package func followHeadsetProfile() {
        let isWanted = settings.configuration.headsetProfile
        if headsets.servesHeadsetProfile != isWanted {
            headsets.servesHeadsetProfile = isWanted
            for device in registry.devices { headsets.describe(device) }
            headsets.forgetUnpaired()
        }
        guard state == .active else { return }
        if isWanted {
            headsetProfile.start()
        } else {
            Task { @ControlPlane in await headsetProfile.stop() }
        }
    }

    private func take(headsetProfile state: ProfileRegistration.State) {
        switch state {
        case .stopped, .registered:
            problems.end("headsetProfile")
            expectedProfiles.follow()
            reconnector.follow()
        case .waitingForService: break
        case .refused(let refusal):
            problems.begin("headsetProfile", what: "\(refusal)", remedy: "tried again by itself")
        }
    }

    package func pressed(_ button: AudioGateway.Button, at address: BluetoothAddress) {
        headsetObjects?.buttonPressed(address, "\(button)")
        // What speaks to the headset is no call that the headset could end itself.
        switch button {
        case .hangUp:
            calls.hangUpUnshown()
            recognise(.hangUp, at: address)
        case .callKey:
            // In the Headset Profile it is about the call that there is, whatever is configured.
            guard headsets.isHeadsetProfile(address) else { return recognise(.callKey, at: address) }
            guard calls.snapshot.calls.isEmpty else { return }
            calls.hangUpUnshown()
            recognise(.callKey, at: address)
        }
    }
}
