import BluetoothTypes

/// An event in words: how it stands in a scenario and in a recording (routing policy §15).
package struct EventRecord: Hashable, Sendable {
    package enum Value: Hashable, Sendable {
        case text(String)
        case flag(Bool)
        case list([String])
    }

    package struct Argument: Hashable, Sendable {
        package let name: String
        package let value: Value

        package init(name: String, value: Value) {
            self.name = name
            self.value = value
        }
    }

    package let word: String
    /// In the order in which the word names them.
    package let arguments: [Argument]

    package init(word: String, arguments: [Argument]) {
        self.word = word
        self.arguments = arguments
    }

    init(_ word: String, _ arguments: (String, Value)?...) {
        self.word = word
        self.arguments = arguments.compactMap { $0.map { Argument(name: $0.0, value: $0.1) } }
    }
}

/// A record that says nothing the policy knows. All cases are the writer's mistake.
package enum EventRecordError: Error, Hashable, Sendable {
    case unknownEvent(String)
    case unknownArgument(word: String, String)
    case missingArgument(word: String, String)
    case invalidArgument(word: String, String, accepted: String)
    case configuration(RoutingConfigurationError)
}

extension EventRecordError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unknownEvent(let word):
            "unknown event '\(word)'; accepted: \(EventRecord.scenarioWords.joined(separator: ", "))"
        case .unknownArgument(let word, let name):
            "\(word): unknown key '\(name)'; accepted: \(EventRecord.argumentText(of: word))"
        case .missingArgument(let word, let name):
            "\(word): key '\(name)' is missing"
        case .invalidArgument(let word, let name, let accepted):
            "\(word): '\(name)' is not accepted; accepted: \(accepted)"
        case .configuration(let error):
            "api.config: \(error)"
        }
    }
}

extension EventRecord {
    /// Each word with the arguments that it takes; `api.config` takes the configuration keys.
    package static let vocabulary = scenarioVocabulary + internalVocabulary

    private static let scenarioVocabulary: [(word: String, arguments: [String])] = [
        ("api.start", []), ("api.stop", []), ("api.setPreferred", ["device"]), ("api.setDefault", ["device"]),
        ("api.select", ["device"]), ("api.clearSelection", []), ("api.mute", ["on"]), ("api.refresh", []),
        ("api.config", []), ("session.activate", []), ("session.deactivate", []),
        ("call.outgoing", ["call", "video", "routes"]), ("call.incoming", ["call", "video", "routes"]),
        ("call.answered", ["call", "via"]), ("call.held", ["call"]), ("call.resumed", ["call"]),
        ("call.ended", ["call"]), ("bt.connected", ["addr", "profiles"]), ("bt.disconnected", ["addr"]),
        ("bt.profile", ["addr", "profile", "up"]), ("bt.adapter", ["powered"]), ("bt.audioOpened", ["addr", "mode"]),
        ("bt.audioClosed", ["addr", "reason"]), ("bt.audioSilent", ["addr"]), ("bt.audioResumed", ["addr"]),
        ("bt.codec", ["addr", "codec"]), ("jack.plugged", ["mic"]), ("jack.unplugged", []),
        ("local.lost", ["kind"]), ("local.found", ["kind"]), ("handset.offHook", []), ("handset.onHook", []),
        ("interruption.begin", ["source"]), ("interruption.end", ["resume"]),
    ]

    /// What only a recording holds: completions, and facts that a scenario gives in advance.
    private static let internalVocabulary: [(word: String, arguments: [String])] = [
        ("bt.described", ["addr", "category", "inband"]), ("link.opened", ["addr"]),
        ("link.failed", ["addr", "failure"]), ("link.closed", ["addr", "reason"]), ("timer", []),
    ]

    /// The words of scenarios, without those that only recordings hold.
    package static var scenarioWords: [String] { scenarioVocabulary.map(\.word) }

    static func argumentText(of word: String) -> String {
        let names = vocabulary.first { $0.word == word }?.arguments ?? []
        return names.isEmpty ? "none" : names.joined(separator: ", ")
    }
}
