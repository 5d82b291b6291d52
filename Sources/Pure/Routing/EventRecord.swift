import BluetoothTypes

/// Text form of an event, for scenarios and recordings (docs/inside/Routing.md §15).
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
    /// In the word's own order.
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

/// Error in a record. All cases are the writer's mistake.
package enum EventRecordError: Error, Hashable, Sendable {
    case unknownEvent(String)
    case unknownArgument(word: String, String, accepted: String)
    case missingArgument(word: String, String, accepted: String)
    case invalidArgument(word: String, String, accepted: String)
    case configuration(RoutingConfigurationError)
}

extension EventRecordError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unknownEvent(let word):
            "unknown event '\(word)'; accepted: \(EventRecord.scenarioWords.joined(separator: ", ")), mark"
        case .unknownArgument(let word, let name, let accepted):
            "\(word): unknown key '\(name)'; accepted: \(accepted)"
        case .missingArgument(let word, let name, let accepted):
            "\(word): key '\(name)' is missing; accepted: \(accepted)"
        case .invalidArgument(let word, let name, let accepted):
            "\(word): '\(name)' is not accepted; accepted: \(accepted)"
        case .configuration(let error):
            "api.config: \(error)"
        }
    }
}

extension EventRecord {
    /// Author of the records.
    package enum Vocabulary: Hashable, Sendable {
        /// People: external events.
        case scenarios
        /// The daemon: also completions, and behaviour that a scenario gives in advance.
        case recordings
    }

    /// Words of scenarios, in the order of docs/inside/Routing.md §15; `mark` is no event.
    package static let scenarioWords = scenarioArguments.map(\.word)

    /// All words; those of recordings only are last.
    package static let words = scenarioWords + recordingArguments.map(\.word)

    /// Arguments of a word; nil for an unknown word. `api.config` takes the configuration keys.
    static func arguments(of word: String, in vocabulary: Vocabulary) -> [String]? {
        switch vocabulary {
        case .scenarios: table[word]
        case .recordings: recordingTable[word] ?? table[word]
        }
    }

    static func argumentText(of word: String, in vocabulary: Vocabulary) -> String {
        let names = arguments(of: word, in: vocabulary) ?? []
        return names.isEmpty ? "none" : names.joined(separator: ", ")
    }

    private static let table = Dictionary(uniqueKeysWithValues: scenarioArguments.map { ($0.word, $0.names) })
    private static let recordingTable =
        Dictionary(uniqueKeysWithValues: (recordingArguments + extendedArguments).map { ($0.word, $0.names) })

    private static let scenarioArguments: [(word: String, names: [String])] = [
        ("api.start", []), ("api.stop", []), ("api.setPreferred", ["device"]), ("api.setDefault", ["device"]),
        ("api.select", ["device"]), ("api.clearSelection", []), ("api.mute", ["on"]), ("api.refresh", []),
        ("api.config", []), ("session.activate", []), ("session.deactivate", []),
        ("call.outgoing", ["call", "video", "routes", "audio"]),
        ("call.incoming", ["call", "video", "routes", "audio"]),
        ("call.media", ["call", "audio", "video"]), ("call.local", ["call", "audio", "video"]),
        ("call.talk", ["call", "on"]), ("bt.rest", ["addr", "on"]),
        ("call.routes", ["call", "routes"]),
        ("call.answered", ["call", "via"]), ("call.held", ["call"]), ("call.resumed", ["call"]),
        ("call.ended", ["call"]), ("bt.connected", ["addr", "profiles"]), ("bt.disconnected", ["addr"]),
        ("bt.profile", ["addr", "profile", "up"]), ("bt.adapter", ["powered"]), ("bt.audioOpened", ["addr"]),
        ("bt.audioClosed", ["addr", "reason"]), ("bt.audioSilent", ["addr"]), ("bt.audioResumed", ["addr"]),
        ("bt.codec", ["addr", "codec"]), ("jack.plugged", ["mic"]), ("jack.unplugged", []),
        ("local.lost", ["kind"]), ("local.found", ["kind"]), ("handset.offHook", []), ("handset.onHook", []),
        ("interruption.begin", ["source"]), ("interruption.end", ["resume"]),
    ]

    private static let recordingArguments: [(word: String, names: [String])] = [
        ("bt.described", ["addr", "category", "inband"]), ("bt.removed", ["addr"]),
        ("bt.wish", ["addr", "calls"]), ("link.opened", ["addr"]), ("link.failed", ["addr", "failure"]),
        ("link.closed", ["addr"]), ("timer", []),
    ]

    /// Additional arguments in recordings.
    private static let extendedArguments: [(word: String, names: [String])] = [
        ("bt.audioOpened", ["addr", "mode"])
    ]
}

extension EventRecord.Value {
    /// The value in the notation of a configuration file.
    package var configurationText: String {
        switch self {
        case .text(let text): text
        case .flag(let flag): flag ? "true" : "false"
        case .list(let list): list.joined(separator: ", ")
        }
    }
}
