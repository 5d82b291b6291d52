package import ArgumentParser
package import BTCall
import Spelling

/// Reads the DEVICE of a command line.
package enum DeviceArgument {
    package static let accepted = DeviceChoice.accepted

    /// Those that are accepted without an address.
    package static let words = [
        DeviceChoice.speakerphone, .wiredHeadset, .earpiece, .bluetooth, .none,
    ].map(\.description)

    package static let help = ArgumentHelp("One of \(DeviceChoice.accepted).", valueName: "device")

    /// The words, and each headset that btcalld knows.
    package static let completion = CompletionKind.custom { words, _, _ in
        let fixed = Self.words.map { CompletionCandidate($0) }
        let headsets = CompletionCandidate.fromDaemon(words) { bridge in
            try await bridge.audioDeviceManager.audioDevices().filter { $0.address != nil }
                .map { CompletionCandidate($0.choice.description, $0.name) }
        }
        return CompletionCandidate.lines(fixed + headsets)
    }

    /// - Throws: `ValidationError` naming all that is accepted.
    package static func read(_ text: String) throws -> DeviceChoice {
        guard let device = DeviceChoice(text) else {
            let question = Suggestion.question(for: text, among: words).map { "; \($0)" } ?? ""
            throw ValidationError("accepted: \(DeviceChoice.accepted)\(question)")
        }
        return device
    }
}
