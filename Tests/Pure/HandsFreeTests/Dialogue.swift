import BluetoothTypes
import HandsFree
import Telephony
import Testing

/// A conversation between a headset and the gateway, read from a file (Dialogues/README.md).
struct Dialogue: Sendable, CustomTestStringConvertible {
    /// What a step begins with. One without an input holds what comes before the first.
    enum Input: Sendable {
        case bytes([UInt8])
        case calls([Call])
        case completed(AudioGateway.RequestOutcome)
        case indicator(Indicator, Int)
        case speakerVolume(Int)
        case microphoneVolume(Int)
        case inbandRing(Bool)
        case voiceRecognition(Bool)
        case virtualCall(Bool)
        case reconfigured(codecs: [VoiceCodec], networkOperator: String?)
        case hfIndicator(HFIndicator, Bool)
        case audioWanted(VoiceCodec?)
        case audioUnwanted
        case audioOpened(VoiceCodec)
        case audioClosed
        case audioIncoming
        case audioFailed(AudioFailure)
        case wait(Duration)
        case serviceLevelConnection(features: String, codecs: String?)
        case reconnect
    }

    struct Output: Sendable, Hashable, CustomStringConvertible {
        enum Kind: String, Sendable, CaseIterable {
            case gateway = "AG"
            case request = "ask"
            case link, close, fault, event
        }

        let kind: Kind
        /// As written, with `…` for any text; or what the gateway did.
        let text: String

        var description: String { "\(kind.rawValue) \(text)" }
    }

    struct Step: Sendable {
        let line: Int
        /// As written, to be shown.
        let text: String
        let input: Input?
        var outputs: [Output] = []
    }

    var name = ""
    var file = ""
    var line = 0
    var cases: [String] = []
    var source = ""
    /// Whether events that are not written are a mistake.
    var comparesAllEvents = true
    var settings: [DialogueSetting] = []
    var callsAtStart: [Call] = []
    var steps: [Step] = []

    var testDescription: String { name }

    /// How many positions there are at which a piece of what the headset sends can be cut.
    var positions: Int {
        let lengths = steps.map { step in
            if case .bytes(let bytes)? = step.input { bytes.count } else { 0 }
        }
        return max((lengths.max() ?? 0) - 1, 0)
    }
}

extension Dialogue {
    /// The same with everything that the headset sends without anything else happening in one piece.
    var joined: Dialogue {
        var result = self
        result.steps = []
        for step in steps {
            guard case .bytes(let more)? = step.input, let last = result.steps.last,
                case .bytes(let bytes)? = last.input
            else {
                result.steps.append(step)
                continue
            }
            result.steps[result.steps.count - 1] = Step(
                line: last.line, text: "\(last.text) / \(step.text)", input: .bytes(bytes + more),
                outputs: last.outputs + step.outputs)
        }
        return result
    }
}

/// What is wrong with a file of dialogues, and where.
struct DialogueError: Error, CustomStringConvertible {
    let file: String
    let line: Int
    let reason: String

    var description: String { "\(file):\(line): \(reason)" }
}
