import BTCall
import BTCallAPI
import ControlLoop

/// Whether calls may use a microphone, as btcalld says it.
@ControlPlane
struct MicrophoneAccess {
    private let bridge: CallBridge

    init(_ bridge: CallBridge) {
        self.bridge = bridge
    }

    func verdict() async -> AccessDescription.Verdict {
        do throws(BridgeError) {
            guard try await bridge.audio.isMicrophoneEnabled() else {
                return .denied(.policy, reason: "[routing] microphoneEnabled is no: `btcall mic on` enables it")
            }
            switch try await bridge.audio.microphoneAccess() {
            case .allowed: break
            case .denied: return .denied(.policy, reason: "[privacy] microphone of btcalld denies the microphone")
            case .waiting:
                return .denied(.policy, reason: "nobody has allowed the microphone yet: `btcall mic allow` does")
            }
            let devices = try await bridge.audioDeviceManager.audioDevices()
            guard devices.contains(where: { $0.isAvailable && $0.input != nil }) else {
                return .denied(.noDevice, reason: "no available device has a microphone: see `btcall devices`")
            }
            return .allowed
        } catch {
            return .denied(error.code == .accessDenied ? .noPermission : .unavailable, reason: error.message)
        }
    }
}
