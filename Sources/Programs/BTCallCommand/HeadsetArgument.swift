import ArgumentParser
import BTCall
import CommandKit
import ControlLoop

/// HEADSET of a command line: a ``DeviceArgument`` that has to be a headset.
enum HeadsetArgument {
    static let accepted =
        "A headset: its address, its name or the beginning of its name, in any case; `bluetooth` for the only one."

    static let help = ArgumentHelp(stringLiteral: accepted)

    /// The addresses of the headsets that btcalld knows.
    static let completion = CompletionKind.custom { words, _, _ in
        CompletionCandidate.lines(
            CompletionCandidate.fromDaemon(words) { bridge in
                try await bridge.audioDeviceManager.audioDevices().compactMap { device in
                    device.address.map { CompletionCandidate($0, device.name) }
                }
            })
    }
}

extension DeviceArgument {
    /// The address of the headset that is meant, and what btcalld knows of it; nil for an address that it does not know.
    ///
    /// - Throws: ``CommandFailure`` that names what was perhaps meant; `BridgeError` when btcalld does not say which there are.
    @ControlPlane
    func headset(on bridge: CallBridge) async throws -> (address: String, device: AudioDevice?) {
        let known = try await bridge.audioDeviceManager.audioDevices()
        let address = try headset(among: known)
        return (address, known.first { $0.address == address })
    }
}
