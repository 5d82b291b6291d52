import BluetoothTypes
import Foundation
import HandsFree
import Telephony

/// Translates dialogues to and from the protocol of `btcall-lab gateway`.
enum VerbWords {
    /// Something that the protocol cannot express.
    struct Unspeakable: Error, CustomStringConvertible {
        let description: String
    }

    private static func json(_ value: Any) throws -> String {
        String(decoding: try JSONSerialization.data(withJSONObject: value, options: .fragmentsAllowed), as: UTF8.self)
    }

    // MARK: To the gateway

    /// The object `ag`.
    static func configuration(_ dialogue: Dialogue) throws -> String {
        var members: [String: Any] = [:]
        for setting in dialogue.settings {
            members[setting.key] = try value(setting, members[setting.key])
        }
        if !dialogue.callsAtStart.isEmpty { members["calls"] = try dialogue.callsAtStart.map(call) }
        return try json(members)
    }

    private static func value(_ setting: DialogueSetting, _ earlier: Any?) throws -> Any {
        let items = setting.value == "-" ? [] : DialogueReader.split(setting.value, at: ",")
        let words = items.map { DialogueReader.words($0) }
        switch setting.key {
        case "features", "codecs", "chld": return items
        case "hf_indicators": return Dictionary(words.map { ($0[0], $0[1]) }) { _, last in last }
        case "network":
            var network = earlier as? [String: Any] ?? [:]
            for (item, word) in zip(items, words) {
                let rest = DialogueReader.trimmed(item.dropFirst(word[0].count))
                network[word[0]] = word[0] == "operator" ? (rest == "-" ? NSNull() : rest) as Any : Int(rest) ?? 0
            }
            return network
        case "subscriber_numbers":
            return words.map {
                ["number": $0[0], "type": Int($0[1]) ?? 0, "service": Int($0[2]) ?? 0] as [String: Any]
            }
        case "memory": return Dictionary(words.map { ($0[0], $0[1]) }) { _, last in last }
        case "inband_ring", "response_and_hold": return setting.value == "on"
        case "profile", "version", "last_dialed", "voice_tag_number": return setting.value
        default: throw Unspeakable(description: setting.key)
        }
    }

    static func table(_ calls: [Call]) throws -> String { try json(try calls.map(call)) }

    private static func call(_ call: Call) throws -> [String: Any] {
        guard call.state != .setup, call.details.name == nil else {
            throw Unspeakable(description: "a call that is set up, or has a name")
        }
        return [
            "id": Int(call.id.value), "dir": call.direction == .incoming ? "in" : "out", "state": "\(call.state)",
            "number": call.details.number as Any? ?? NSNull(), "type": call.details.numberType as Any? ?? NSNull(),
            "mpty": call.isConference,
        ]
    }

    /// nil for inputs without an event.
    static func event(_ input: Dialogue.Input) -> String? {
        switch input {
        case .indicator(let indicator, let value) where !indicator.isMandatory:
            #"{"type":"set","\#(indicator.name)":\#(value)}"#
        case .speakerVolume(let value): #"{"type":"ag_volume","which":"speaker","value":\#(value)}"#
        case .microphoneVolume(let value): #"{"type":"ag_volume","which":"microphone","value":\#(value)}"#
        case .inbandRing(let isOn): #"{"type":"set_inband","value":\#(isOn ? 1 : 0)}"#
        case .voiceRecognition(let isOn): #"{"type":"ag_voice_recognition","on":\#(isOn ? 1 : 0)}"#
        case .hfIndicator(let indicator, let isOn):
            #"{"type":"hf_indicator_enable","id":\#(indicator.rawValue),"on":\#(isOn ? 1 : 0)}"#
        case .audioWanted(nil): #"{"type":"audio_request","want":"connect"}"#
        case .audioUnwanted: #"{"type":"audio_request","want":"disconnect"}"#
        case .audioClosed: #"{"type":"sco_closed"}"#
        case .audioIncoming: #"{"type":"sco_incoming"}"#
        default: nil
        }
    }

    /// Initial indicators, restored when a dialogue's headset reconnects.
    static func network(_ dialogue: Dialogue) throws -> String {
        let values = try dialogue.configuration().indicators
        var members: [String: Any] = ["type": "set"]
        for indicator in Indicator.allCases where !indicator.isMandatory { members[indicator.name] = values[indicator] }
        return try json(members)
    }

    // MARK: From the gateway

    /// The protocol's form of an expectation; nil if it has none.
    static func expected(_ output: Dialogue.Output) -> Dialogue.Output? {
        let words = DialogueReader.words(output.text)
        let text: String?
        switch (output.kind, words.first ?? "") {
        case (.close, _): text = ""
        case (.link, "reject"): text = nil
        case (.request, "held"): text = "chld 2"
        case (.event, "established"): text = "established"
        case (.event, "battery"): text = words.prefix(2).joined(separator: " ")
        case (.event, "audio"): text = words.dropFirst().first == "failed" ? "audio failed" : nil
        case (.event, "volume"), (.event, "nrec"), (.event, "vr"), (.event, "button"): text = output.text
        case (.event, _): text = nil
        case (.gateway, _), (.request, _), (.link, _), (.fault, _): text = output.text
        }
        return text.map { Dialogue.Output(kind: output.kind, text: $0) }
    }

    /// The dialogues' form of a gateway message; nil for an unknown one.
    static func output(_ message: [String: Any]) -> Dialogue.Output? {
        func number(_ key: String) -> Int? { message[key] as? Int }
        func word(_ key: String) -> String? { message[key] as? String }
        let codec = word("codec").flatMap { VoiceCodec(word: $0) }
        switch (word("op"), word("kind")) {
        case ("slc", nil): return Dialogue.Output(kind: .event, text: "established")
        case ("request", let kind?) where number("id") != nil && number("link") == 0:
            switch kind {
            case "answer", "reject", "hangup":
                return number("call").map { Dialogue.Output(kind: .request, text: "\(kind) \($0)") }
            case "dial": return word("number").map { Dialogue.Output(kind: .request, text: "dial \($0)") }
            case "hold": return word("action").map { Dialogue.Output(kind: .request, text: "chld \($0)") }
            case "btrh": return number("value").map { Dialogue.Output(kind: .request, text: "btrh \($0)") }
            case "sco_connect": return codec.map { Dialogue.Output(kind: .link, text: "connect \($0)") }
            default: return nil
            }
        case ("effect", let kind?) where number("link") == 0:
            let isOn = number("on") == 1 ? "on" : "off"
            switch kind {
            case "volume":
                guard let which = word("which"), let value = number("value") else { return nil }
                return Dialogue.Output(kind: .event, text: "volume \(which) \(value)")
            case "battery": return number("percent").map { Dialogue.Output(kind: .event, text: "battery \($0)") }
            case "dtmf": return word("tone").map { Dialogue.Output(kind: .request, text: "dtmf \($0)") }
            case "nrec": return Dialogue.Output(kind: .event, text: "nrec \(isOn)")
            case "voice_recognition": return Dialogue.Output(kind: .event, text: "vr \(isOn)")
            case "button": return Dialogue.Output(kind: .event, text: "button")
            case "sco_accept": return codec.map { Dialogue.Output(kind: .link, text: "accept \($0)") }
            case "sco_disconnect": return Dialogue.Output(kind: .link, text: "disconnect")
            case "audio_failed": return Dialogue.Output(kind: .event, text: "audio failed")
            default: return nil
            }
        default: return nil
        }
    }
}
