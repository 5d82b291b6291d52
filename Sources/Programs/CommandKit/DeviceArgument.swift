package import ArgumentParser
package import BTCall
import ControlLoop
import Spelling

/// DEVICE on a command line, as typed.
///
/// It is a kind of device, a headset's address, or the name of a device. Case does not matter.
package struct DeviceArgument: Hashable, Sendable, ExpressibleByArgument {
    package let text: String

    package init(_ text: String) { self.text = text }

    package init?(argument: String) {
        guard !argument.isEmpty else { return nil }
        text = argument
    }

    package static let accepted =
        "\(words.joined(separator: ", ")), or a headset's address, its name or the beginning of its name"

    /// The accepted words that do not name a headset.
    package static let words = kinds.map(\.description) + [DeviceChoice.none.description]

    private static let kinds: [DeviceChoice] = [.speakerphone, .wiredHeadset, .earpiece, .bluetooth]
    private static let prefix = "bluetooth:"

    package static let help = ArgumentHelp("\(accepted).", valueName: "device")

    /// The words, and each headset known to btcalld.
    package static let completion = CompletionKind.custom { words, _, _ in
        let fixed = Self.words.map { CompletionCandidate($0) }
        let headsets = CompletionCandidate.fromDaemon(words) { bridge in
            try await bridge.audioDeviceManager.audioDevices().filter { $0.address != nil }
                .map { CompletionCandidate($0.choice.description, $0.name) }
        }
        return CompletionCandidate.lines(fixed + headsets)
    }

    /// The device, if it can be resolved without a list of devices: a word or an address; nil when the text may be a name.
    package var fixed: DeviceChoice? {
        let lower = text.lowercased()
        let known = (Self.kinds + [DeviceChoice.none]).first { $0.description.lowercased() == lower }
        return known ?? DeviceChoice.bluetooth(address: bare)
    }

    /// Resolves the device.
    ///
    /// - Throws: ``CommandFailure`` with the closest names; `BridgeError` when btcalld does not list the devices.
    @ControlPlane
    package func device(on bridge: CallBridge) async throws -> DeviceChoice {
        if let fixed { return fixed }
        return try device(among: try await bridge.audioDeviceManager.audioDevices())
    }

    /// Resolves the device as ``device(on:)`` does.
    package func device(among known: [AudioDevice]) throws(CommandFailure) -> DeviceChoice {
        if let fixed { return fixed }
        return try named(among: known, kind: "device").choice
    }

    /// Resolves the address of a headset; `bluetooth` stands for the only one.
    ///
    /// - Throws: ``CommandFailure`` with the closest names.
    package func headset(among known: [AudioDevice]) throws(CommandFailure) -> String {
        let headsets = known.filter { $0.address != nil }
        let found: AudioDevice
        switch fixed {
        case nil: found = try named(among: headsets, kind: "headset")
        case .bluetooth?:
            guard headsets.count <= 1 else {
                throw CommandFailure(.ambiguous, "there are several headsets; name one: \(Self.list(headsets))")
            }
            guard let only = headsets.first else { throw CommandFailure(.noSuchDevice, "no headset is known") }
            found = only
        case let choice?:
            let prefix = Self.prefix
            guard choice.description.hasPrefix(prefix) else {
                throw CommandFailure(.noSuchDevice, "\(choice) is not a headset; \(Self.known(headsets, "headset"))")
            }
            return String(choice.description.dropFirst(prefix.count))
        }
        return found.address ?? found.choice.description
    }

    /// The text without `bluetooth:`.
    private var bare: String {
        let lower = text.lowercased()
        return lower.hasPrefix(Self.prefix) ? String(text.dropFirst(Self.prefix.count)) : text
    }

    private func named(among known: [AudioDevice], kind: String) throws(CommandFailure) -> AudioDevice {
        // After the prefix `bluetooth:` it is a headset's name.
        let candidates = bare == text ? known : known.filter { $0.address != nil }
        let wanted = bare.lowercased()
        let whole = candidates.filter { $0.name.lowercased() == wanted }
        let found = whole.isEmpty ? candidates.filter { $0.name.lowercased().hasPrefix(wanted) } : whole
        if found.count == 1 { return found[0] }
        guard found.isEmpty else {
            let how = whole.isEmpty ? "have a name that begins with" : "are named"
            let remedy = whole.isEmpty ? "give more of the name, or the address" : "give the address"
            throw CommandFailure(.ambiguous, "several \(kind)s \(how) \(text): \(Self.list(found)): \(remedy)")
        }
        let words = kind == "device" ? Self.words.map { (word: $0, names: [$0]) } : []
        let near = Suggestion.words(near: bare, among: words + candidates.map { ($0.name, [$0.name]) })
        let question = near.isEmpty ? "" : "did you mean \(near.map { "'\($0)'" }.joined(separator: " or "))? "
        throw CommandFailure(.noSuchDevice, "there is no \(kind) \(text): \(question)\(Self.known(known, kind))")
    }

    private static func known(_ known: [AudioDevice], _ kind: String) -> String {
        // A local device without a name of its own is already among the words.
        let named = known.filter { $0.address != nil || $0.name != $0.choice.description }
        let list = named.isEmpty ? "no headset is known" : "known are \(list(named))"
        return kind == "device" ? "\(list); accepted: \(accepted)" : list
    }

    private static func list(_ devices: [AudioDevice]) -> String {
        devices.map { "\($0.address ?? $0.choice.description) (\($0.name))" }.joined(separator: ", ")
    }
}
