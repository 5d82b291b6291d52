import BluetoothTypes
import CommandKit
import HandsFree
import JSONText
import Telephony

/// One message to the driver of `btcall-lab gateway`.
enum GatewayReport: Hashable, Sendable {
    case unsupported(String)
    case serviceLevelConnection(link: Int, isUp: Bool)
    case request(Int, link: Int, Request)
    case effect(link: Int, Effect)

    /// A request to the driver.
    enum Request: Hashable, Sendable {
        case answer(CallID)
        case reject(CallID)
        case hangUp(CallID)
        case dial(String)
        case hold(ThreeWayAction)
        case responseAndHold(ResponseAndHold)
        case connectAudio(VoiceCodec)
    }

    /// A notification of the driver.
    enum Effect: Hashable, Sendable {
        case volume(AudioGateway.VolumeDirection, Int)
        case battery(percent: Int)
        case tone(String)
        case ownNoiseReduction
        case voiceRecognition(Bool)
        case button(AudioGateway.Button)
        case audioAccepted(VoiceCodec)
        case audioDisconnected
        case audioFailed
    }

    /// One line of JSON with its newline.
    var line: String { json.text() + "\n" }

    private var json: JSON {
        switch self {
        case .unsupported(let why): ["op": "unsupported", "why": .string(why)]
        case .serviceLevelConnection(let link, let isUp): ["op": "slc", "link": JSON(link), "up": .bool(isUp)]
        case .request(let id, let link, let request):
            JSON([("op", "request"), ("id", JSON(id)), ("link", JSON(link))] + request.members)
        case .effect(let link, let effect): JSON([("op", "effect"), ("link", JSON(link))] + effect.members)
        }
    }
}

extension GatewayReport.Request {
    fileprivate var members: [(String, JSON)] {
        switch self {
        case .answer(let call): [("kind", "answer"), ("call", .integer(Int64(call.value)))]
        case .reject(let call): [("kind", "reject"), ("call", .integer(Int64(call.value)))]
        case .hangUp(let call): [("kind", "hangup"), ("call", .integer(Int64(call.value)))]
        case .dial(let number): [("kind", "dial"), ("number", .string(number))]
        case .hold(let action): [("kind", "hold"), ("action", .string(action.text))]
        case .responseAndHold(let value): [("kind", "btrh"), ("value", JSON(value.rawValue))]
        case .connectAudio(let codec): [("kind", "sco_connect"), ("codec", .string(codec.word))]
        }
    }
}

extension GatewayReport.Effect {
    fileprivate var members: [(String, JSON)] {
        switch self {
        case .volume(let which, let value):
            [("kind", "volume"), ("which", .string(which.rawValue)), ("value", JSON(value))]
        case .battery(let percent): [("kind", "battery"), ("percent", JSON(percent))]
        case .tone(let tone): [("kind", "dtmf"), ("tone", .string(tone))]
        case .ownNoiseReduction: [("kind", "nrec"), ("on", JSON(0))]
        case .voiceRecognition(let isOn): [("kind", "voice_recognition"), ("on", JSON(isOn ? 1 : 0))]
        case .button(.callKey): [("kind", "button"), ("key", 200)]
        case .button(.hangUp): [("kind", "button"), ("key", "hangup")]
        case .audioAccepted(let codec): [("kind", "sco_accept"), ("codec", .string(codec.word))]
        case .audioDisconnected: [("kind", "sco_disconnect")]
        case .audioFailed: [("kind", "audio_failed")]
        }
    }
}

extension GatewayReport.Request {
    /// Returns nil for a tone, which is an effect, and for requests that no headset makes.
    init?(_ request: CallRequest) {
        switch request {
        case .answer(let id): self = .answer(id)
        case .reject(let id): self = .reject(id)
        case .hangUp(let id), .end(let id): self = .hangUp(id)
        case .dial(let number, _): self = .dial(number)
        // The button of the Headset Profile: resumes the held call, or holds the active one.
        case .setHeld: self = .hold(.holdActiveAndAcceptOther)
        case .threeWay(let action): self = .hold(action)
        case .responseAndHold(let value): self = .responseAndHold(value)
        case .sendDTMF, .giveUp: return nil
        }
    }
}

extension GatewayReport.Effect {
    /// Returns nil for an event without a message.
    init?(_ event: AudioGateway.Event) {
        switch event {
        case .volume(let which, let value): self = .volume(which, value)
        case .battery(let report): self = .battery(percent: report.percent)
        case .button(let button): self = .button(button)
        case .audioFailed: self = .audioFailed
        case .ownNoiseReduction: self = .ownNoiseReduction
        case .voiceRecognition(let isOn): self = .voiceRecognition(isOn)
        case .established, .powerSource, .hfIndicator, .codecs, .codecFailed, .audioRequested, .microphoneMuted,
            .audioPolicy, .talkKey, .vendor:
            return nil
        }
    }
}
