import ArgumentParser
import BTCall
import CommandKit

/// HEADSET on the command line: an address, or the name of one headset in `btcall devices`.
enum HeadsetArgument {
    /// The addresses of the headsets that btcalld knows.
    static let completion = CompletionKind.custom { words, _, _ in
        CompletionCandidate.lines(
            CompletionCandidate.fromDaemon(words) { bridge in
                try await bridge.audioDeviceManager.audioDevices().compactMap { device in
                    device.address.map { CompletionCandidate($0, device.name) }
                }
            })
    }

    /// - Parameter known: the headsets that there are.
    static func address(_ text: String, _ known: [AudioDevice]) throws -> String {
        let prefix = "bluetooth:"
        let bare = text.hasPrefix(prefix) ? String(text.dropFirst(prefix.count)) : text
        if let choice = DeviceChoice.bluetooth(address: bare) {
            return String(choice.description.dropFirst(prefix.count))
        }
        let named = known.filter { $0.name.lowercased() == text.lowercased() }
        if named.count == 1, let address = named[0].address { return address }
        let list = (named.isEmpty ? known : named).map { "\($0.address ?? "") (\($0.name))" }.joined(separator: ", ")
        guard named.isEmpty else { throw CommandFailure("several headsets are named \(text): \(list)") }
        throw CommandFailure(
            "\(text) is neither an address nor the name of a headset; "
                + (known.isEmpty ? "no headset is known" : "known are \(list)"))
    }
}
