import ArgumentParser
import BTCall
import CommandKit
import ControlLoop

/// HEADSET on a command line: a ``DeviceArgument`` that must be a headset.
enum HeadsetArgument {
    static let accepted =
        "A headset: its address, its name or the beginning of its name, in any case; `bluetooth` for the only one."

    static let help = ArgumentHelp(stringLiteral: accepted)

    /// The addresses of the headsets known to btcalld.
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
    /// Resolves the argument to an address and btcalld's entry for it; the entry is nil for an address unknown to btcalld.
    ///
    /// - Throws: ``CommandFailure`` with the closest names; `BridgeError` when btcalld does not list the headsets.
    @ControlPlane
    func headset(on bridge: CallBridge) async throws -> (address: String, device: AudioDevice?) {
        let known = try await bridge.audioDeviceManager.audioDevices()
        let address = try headset(among: known)
        return (address, known.first { $0.address == address })
    }
}
