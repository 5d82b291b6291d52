import BluetoothTypes
import HandsFree
import Telephony
import Testing

/// A conversation between a headset and the gateway, read from a file (Dialogues/README.md).
struct Dialogue: Sendable, CustomTestStringConvertible {
    /// First line of a step. A step without input holds what precedes the first one.
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
        /// As written, with `…` for any text; or the gateway's action.
        let text: String

        var description: String { "\(kind.rawValue) \(text)" }
    }

    struct Step: Sendable {
        let line: Int
        /// As written, for display.
        let text: String
        let input: Input?
        var outputs: [Output] = []
    }

    var name = ""
    var file = ""
    var line = 0
    var cases: [String] = []
    var source = ""
    /// Whether unlisted events are a mistake.
    var comparesAllEvents = true
    var settings: [DialogueSetting] = []
    var callsAtStart: [Call] = []
    var steps: [Step] = []

    var testDescription: String { name }

    /// Number of positions at which a piece of the headset's input can be split.
    var positions: Int {
        let lengths = steps.map { step in
            if case .bytes(let bytes)? = step.input { bytes.count } else { 0 }
        }
        return max((lengths.max() ?? 0) - 1, 0)
    }
}

extension Dialogue {
    /// The same dialogue with consecutive input of the headset joined to one piece.
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

/// Error in a file of dialogues, and its position.
struct DialogueError: Error, CustomStringConvertible {
    let file: String
    let line: Int
    let reason: String

    var description: String { "\(file):\(line): \(reason)" }
}
