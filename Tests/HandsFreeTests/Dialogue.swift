import BluetoothTypes
import HandsFree
import Telephony
import Testing

/// A conversation as text. Inputs:
///
///     > AT+VGS=9             the headset sends a line
///     . ok   . error 30      the pending request is completed
///     * calls 1 in incoming 5551 [Name], 2 out held      the call table: index, direction, state, number, name; `-` none
///     * set signal 3         an indicator         * volume speaker 9       * inband on       * vr on     * hf 2 off
///     ~ connect [CODEC]  ~ disconnect  ~ opened CODEC  ~ closed  ~ failed refused  ~ incoming
///     @ 1500                 milliseconds pass; deadlines are kept
///     slc 191 [1,2]          a whole service level connection with these features and codecs, not shown
///
/// Outputs: `< line` sent, `! request`, `= anything else`. What is written after an input is all that it causes.
struct Dialogue: Sendable, CustomTestStringConvertible {
    let name: String
    var configuration = AudioGatewayConfiguration()
    let text: String

    init(_ name: String, _ text: String) {
        self.init(name, { _ in }, text)
    }

    init(_ name: String, _ change: (inout AudioGatewayConfiguration) -> Void, _ text: String) {
        self.name = name
        change(&configuration)
        self.text = text
    }

    var testDescription: String { name }

    var lines: [String] {
        text.split(separator: "\n").map { trim(String($0)) }.filter { !$0.isEmpty && !$0.hasPrefix("#") }
    }
}

func trim(_ text: String) -> String {
    String(text.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
}

/// Plays the inputs of a dialogue and writes down what happens.
struct DialoguePlayer {
    var gateway: AudioGateway
    var now = Instant.zero
    var transcript: [String] = []
    private var deadline: Instant?
    private var request: GatewayRequestID?
    private var isRecording = true
    /// How the bytes of each line are cut.
    let cut: ([UInt8]) -> [[UInt8]]

    init(_ configuration: AudioGatewayConfiguration, cut: @escaping ([UInt8]) -> [[UInt8]] = { [$0] }) {
        gateway = AudioGateway(configuration: configuration)
        self.cut = cut
        note(gateway.start(at: now))
    }

    mutating func play(_ dialogue: Dialogue) -> [String] {
        for line in dialogue.lines { play(line) }
        return transcript
    }

    mutating func play(_ line: String) {
        let words = line.split(separator: " ").map(String.init)
        guard let kind = words.first, !["<", "!", "="].contains(kind) else { return }
        if kind != "slc" { transcript.append(line) }
        let rest = Array(words.dropFirst())
        switch kind {
        case ">": hear(String(line.dropFirst(2)))
        case ".": complete(rest)
        case "*": change(rest)
        case "~": audio(rest)
        case "@": pass(Int64(rest.first ?? "") ?? 0)
        case "slc": connect(rest)
        default: Issue.record("not understood: \(line)")
        }
    }

    private mutating func hear(_ line: String) {
        for part in cut(Array(line.utf8) + [0x0D]) { note(gateway.bytesReceived(part, at: now)) }
    }

    private mutating func complete(_ words: [String]) {
        guard let request else {
            Issue.record("no request is pending")
            return
        }
        self.request = nil
        let code = words.count > 1 ? Int(words[1]) ?? 0 : 0
        note(gateway.requestCompleted(request, words.first == "ok" ? .done : .failed(CMEError(code: code)), at: now))
    }

    private mutating func change(_ words: [String]) {
        switch (words.first ?? "", words.dropFirst().first ?? "", words.dropFirst(2).first ?? "") {
        case ("calls", _, _):
            let text = words.dropFirst().joined(separator: " ")
            note(gateway.callsChanged(CallSnapshot(parseCalls(text)), at: now))
        case ("set", let name, let value):
            guard let indicator = Indicator.allCases.first(where: { $0.name == name }) else { return }
            note(gateway.setIndicator(indicator, Int(value) ?? 0))
        case ("volume", "speaker", let value): note(gateway.setSpeakerVolume(Int(value) ?? 0))
        case ("volume", _, let value): note(gateway.setMicrophoneVolume(Int(value) ?? 0))
        case ("inband", let value, _): note(gateway.setInbandRing(value == "on"))
        case ("vr", let value, _): note(gateway.setVoiceRecognition(value == "on"))
        case ("hf", let id, let value):
            guard let indicator = Int(id).flatMap(HFIndicator.init(rawValue:)) else { return }
            note(gateway.setHFIndicator(indicator, isEnabled: value == "on"))
        default: Issue.record("not understood: \(words)")
        }
    }

    private mutating func audio(_ words: [String]) {
        let codec = VoiceCodec.allCases.first { $0.description == words.last }
        switch words.first {
        case "connect": note(gateway.audioRequested(.connect(hint: codec), at: now))
        case "disconnect": note(gateway.audioRequested(.disconnect, at: now))
        case "opened": note(gateway.audioOpened(codec ?? .cvsd))
        case "closed": note(gateway.audioClosed(at: now))
        case "incoming": note(gateway.audioIncoming())
        case "failed":
            let all: [String: AudioFailure] = [
                "refused": .refused, "unsupported": .unsupportedCodec, "busy": .busy, "cancelled": .cancelled,
            ]
            note(gateway.audioFailed(all[words.last ?? ""] ?? .failed, at: now))
        default: Issue.record("not understood: \(words)")
        }
    }

    private mutating func pass(_ milliseconds: Int64) {
        let end = now.advanced(by: .milliseconds(milliseconds))
        while let next = deadline, next <= end {
            now = max(now, next)
            deadline = nil
            note(gateway.deadlineReached(at: now))
        }
        now = end
    }

    private mutating func connect(_ words: [String]) {
        isRecording = false
        let features = words.first ?? "0"
        hear("AT+BRSF=\(features)")
        if words.count > 1 { hear("AT+BAC=\(words[1])") }
        hear("AT+CIND=?")
        hear("AT+CIND?")
        hear("AT+CMER=3,0,0,1")
        hear("AT+CHLD=?")
        hear("AT+BIND=1,2")
        hear("AT+BIND=?")
        hear("AT+BIND?")
        hear("AT+CLIP=1")
        hear("AT+CCWA=1")
        isRecording = true
        if !gateway.isEstablished { Issue.record("not established") }
    }

    private mutating func note(_ actions: [AudioGateway.Action]) {
        for action in actions {
            if case .setDeadline(let next) = action { deadline = next }
            if case .request(_, let id) = action { request = id }
            if isRecording, let line = describe(action) { transcript.append(line) }
        }
    }
}

func parseCalls(_ text: String) -> [Call] {
    text.split(separator: ",").compactMap { part in
        let words = part.split(separator: " ").map(String.init)
        guard words.count >= 3, let index = Int(words[0]) else { return nil }
        let states: [String: CallState] = [
            "setup": .setup, "dialing": .dialing, "alerting": .alerting, "incoming": .incoming, "waiting": .waiting,
            "active": .active, "held": .held,
        ]
        let number = words.count > 3 && words[3] != "-" ? words[3] : nil
        let name = words.count > 4 ? words[4...].joined(separator: " ") : nil
        return Call(
            id: CallID(UInt32(index)), provider: "p", direction: words[1] == "in" ? .incoming : .outgoing,
            state: states[words[2]] ?? .active, details: CallDetails(number: number, name: name), index: index)
    }
}

func describe(_ action: AudioGateway.Action) -> String? {
    switch action {
    case .send(let line): "< \(line.text)"
    case .request(let request, _): "! \(describe(request))"
    case .connectAudio(let codec): "= connect \(codec)"
    case .disconnectAudio: "= disconnect"
    case .acceptAudio(let codec): "= accept \(codec)"
    case .rejectAudio: "= reject"
    case .setDeadline: nil
    case .event(let event): "= \(describe(event))"
    case .closeConnection(let reason): "= close \(reason.rawValue)"
    case .fault(let reason): "= fault \(reason)"
    }
}

func describe(_ request: CallRequest) -> String {
    switch request {
    case .answer(let id): "answer \(id.value)"
    case .reject(let id): "reject \(id.value)"
    case .hangUp(let id): "hangup \(id.value)"
    case .dial(let number, _): "dial \(number)"
    case .setHeld(let id, let held): "held \(id.value) \(held)"
    case .threeWay(let action): "chld \(action.text)"
    case .sendDTMF(let tone): "dtmf \(tone)"
    case .responseAndHold(let value): "btrh \(value.rawValue)"
    }
}

func describe(_ event: AudioGateway.Event) -> String {
    switch event {
    case .established(let negotiated):
        "established " + (negotiated.codecs.map { $0.map(\.description).joined(separator: ",") } ?? "-")
            + (negotiated.hfIndicators.isEmpty
                ? "" : " hf \(negotiated.hfIndicators.map { "\($0.rawValue)" }.joined())")
    case .volume(let direction, let value): "volume \(direction.rawValue) \(value)"
    case .battery(let percent, let source): "battery \(percent) \(source.rawValue)"
    case .hfIndicator(let indicator, let value): "indicator \(indicator.rawValue) \(value)"
    case .button: "button"
    case .codecs(let list): "codecs " + list.map(\.description).joined(separator: ",")
    case .codecFailed(let codec, let failure): "codec failed \(codec) \(failure)"
    case .audioFailed(let failure): "audio failed \(failure)"
    case .audioRequested: "audio requested"
    case .noiseReduction(let isOn): "nrec \(isOn ? "on" : "off")"
    case .voiceRecognition(let isOn): "vr \(isOn ? "on" : "off")"
    case .vendor(let word): "vendor \(word)"
    }
}
