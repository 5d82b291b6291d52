import BluetoothTypes
import HandsFree
import Telephony

/// Plays the headset's part of a dialogue and compares what the gateway does.
struct DialoguePlayer {
    /// The first step with a different result.
    struct Mismatch: CustomStringConvertible {
        let file: String
        let line: Int
        let description: String
    }

    private let dialogue: Dialogue
    /// Keeps what was learnt when the headset reconnects.
    private var configuration: AudioGatewayConfiguration
    /// How the bytes of each piece are split.
    private let cut: ([UInt8]) -> [[UInt8]]
    private var gateway: AudioGateway
    private var now = Instant.zero
    private var deadline: Instant?
    private var request: GatewayRequestID?
    private var calls: [Call]
    private var outputs: [Dialogue.Output] = []
    private var mistake: String?

    private init(
        _ dialogue: Dialogue, _ configuration: AudioGatewayConfiguration, cut: @escaping ([UInt8]) -> [[UInt8]]
    ) {
        self.dialogue = dialogue
        self.configuration = configuration
        self.cut = cut
        gateway = AudioGateway(configuration: configuration)
        calls = dialogue.callsAtStart
    }

    /// nil when everything matched.
    static func play(_ dialogue: Dialogue, cut: @escaping ([UInt8]) -> [[UInt8]] = { [$0] }) -> Mismatch? {
        do {
            var player = DialoguePlayer(dialogue, try dialogue.configuration(), cut: cut)
            return player.play()
        } catch {
            return Mismatch(file: dialogue.file, line: dialogue.line, description: error.reason)
        }
    }

    private mutating func play() -> Mismatch? {
        start()
        if dialogue.steps.first?.input != nil, let mismatch = compared(with: nil) { return mismatch }
        for step in dialogue.steps {
            if let input = step.input { perform(input) }
            if let mismatch = compared(with: step) { return mismatch }
        }
        return nil
    }

    private mutating func start() {
        note(gateway.start(at: now))
        if !calls.isEmpty { note(gateway.callsChanged(CallSnapshot(calls), at: now)) }
    }

    private mutating func perform(_ input: Dialogue.Input) {
        switch input {
        case .bytes(let bytes): hear(bytes)
        case .calls(let table):
            calls = table
            note(gateway.callsChanged(CallSnapshot(table), at: now))
        case .completed(let outcome):
            guard let request else {
                mistake = "no request is pending"
                return
            }
            self.request = nil
            note(gateway.requestCompleted(request, outcome, at: now))
        case .indicator(let indicator, let value): note(gateway.setIndicator(indicator, value, at: now))
        case .speakerVolume(let value): note(gateway.setSpeakerVolume(value))
        case .microphoneVolume(let value): note(gateway.setMicrophoneVolume(value))
        case .inbandRing(let isOn): note(gateway.setInbandRing(isOn))
        case .voiceRecognition(let isOn): note(gateway.setVoiceRecognition(isOn))
        case .reconfigured(let codecs, let name): gateway.reconfigure(codecs: codecs, networkOperator: name)
        case .hfIndicator(let indicator, let isOn): note(gateway.setHFIndicator(indicator, isEnabled: isOn))
        case .audioWanted(let hint): note(gateway.audioRequested(.connect(hint: hint), at: now))
        case .audioUnwanted: note(gateway.audioRequested(.disconnect, at: now))
        case .audioOpened(let codec): note(gateway.audioOpened(codec, at: now))
        case .audioClosed: note(gateway.audioClosed(at: now))
        case .audioIncoming: note(gateway.audioIncoming())
        case .audioFailed(let failure): note(gateway.audioFailed(failure, at: now))
        case .virtualCall(let isOn): note(gateway.setVirtualCall(isOn))
        case .wait(let duration): pass(duration)
        case .serviceLevelConnection(let features, let codecs): connect(features, codecs)
        case .reconnect:
            note(gateway.connectionLost())
            configuration.codecMemory = gateway.codecMemory
            gateway = AudioGateway(configuration: configuration)
            deadline = nil
            request = nil
            start()
        }
    }

    private mutating func hear(_ bytes: [UInt8]) {
        for part in cut(bytes) { note(gateway.bytesReceived(part, at: now)) }
    }

    private mutating func pass(_ duration: Duration) {
        let end = now.advanced(by: duration)
        while let next = deadline, next <= end {
            now = max(now, next)
            deadline = nil
            note(gateway.deadlineReached(at: now))
        }
        now = end
    }

    private mutating func connect(_ features: String, _ codecs: String?) {
        let lines =
            ["AT+BRSF=\(features)"] + (codecs.map { ["AT+BAC=\($0)"] } ?? [])
            + [
                "AT+CIND=?", "AT+CIND?", "AT+CMER=3,0,0,1", "AT+CHLD=?", "AT+BIND=1,2", "AT+BIND=?", "AT+BIND?",
                "AT+CLIP=1", "AT+CCWA=1",
            ]
        for line in lines { hear(Array(line.utf8) + [0x0D]) }
        outputs = []
        if !gateway.isEstablished { mistake = "the service level connection was not established" }
    }

    private mutating func note(_ actions: [AudioGateway.Action]) {
        for action in actions {
            if case .setDeadline(let next) = action { deadline = next }
            if case .request(_, let id) = action { request = id }
            if let output = Dialogue.Output(action) { outputs.append(output) }
        }
    }

    // MARK: - Comparison

    private mutating func compared(with step: Dialogue.Step?) -> Mismatch? {
        let got = outputs
        outputs = []
        let expected = step?.outputs ?? []
        if mistake == nil, isSame(expected, got) { return nil }
        func list(_ outputs: [Dialogue.Output]) -> String {
            outputs.isEmpty ? "    nothing" : outputs.map { "    \($0)" }.joined(separator: "\n")
        }
        let line = step?.line ?? dialogue.line
        return Mismatch(
            file: dialogue.file, line: line,
            description: """
                \(dialogue.file):\(line): \(step?.text ?? "(start)")\(mistake.map { ": \($0)" } ?? "")
                  expected
                \(list(expected))
                  came
                \(list(got))
                """)
    }

    private func isSame(_ expected: [Dialogue.Output], _ got: [Dialogue.Output]) -> Bool {
        let (told, did) = (expected.filter { $0.kind == .event }, expected.filter { $0.kind != .event })
        let (heard, done) = (got.filter { $0.kind == .event }, got.filter { $0.kind != .event })
        guard did.count == done.count, zip(did, done).allSatisfy({ $0.describes($1) }) else { return false }
        if dialogue.comparesAllEvents {
            return told.count == heard.count && zip(told, heard).allSatisfy { $0.describes($1) }
        }
        var rest = heard[...]
        for event in told {
            guard let index = rest.firstIndex(where: { event.describes($0) }) else { return false }
            rest = rest[(index + 1)...]
        }
        return true
    }
}

extension Dialogue.Output {
    /// Whether the action matches the written one.
    func describes(_ other: Dialogue.Output) -> Bool {
        kind == other.kind && Self.matches(Array(text)[...], Array(other.text)[...], after: nil)
    }

    private static func matches(_ pattern: ArraySlice<Character>, _ text: ArraySlice<Character>, after last: Character?)
        -> Bool
    {
        guard let first = pattern.first else { return text.isEmpty }
        let rest = pattern.dropFirst()
        guard first == "…" else {
            return text.first == first && matches(rest, text.dropFirst(), after: first)
        }
        let stopsAtQuote = last == "\"" && rest.first == "\""
        var end = text.startIndex
        while true {
            if matches(rest, text[end...], after: first) { return true }
            if end == text.endIndex || (stopsAtQuote && text[end] == "\"") { return false }
            end += 1
        }
    }

    /// The gateway's actions; nil for those about time only.
    init?(_ action: AudioGateway.Action) {
        switch action {
        case .send(let line): self.init(kind: .gateway, text: line.text)
        case .request(let request, _): self.init(kind: .request, text: request.words)
        case .connectAudio(let codec): self.init(kind: .link, text: "connect \(codec)")
        case .disconnectAudio: self.init(kind: .link, text: "disconnect")
        case .acceptAudio(let codec): self.init(kind: .link, text: "accept \(codec)")
        case .rejectAudio: self.init(kind: .link, text: "reject")
        case .setDeadline: return nil
        case .event(let event): self.init(kind: .event, text: Self.text(event))
        case .closeConnection(let reason): self.init(kind: .close, text: reason.rawValue)
        case .fault(let reason): self.init(kind: .fault, text: reason)
        }
    }

    private static func text(_ event: AudioGateway.Event) -> String {
        switch event {
        case .established(let negotiated):
            "established " + (negotiated.codecs.map { $0.map(\.description).joined(separator: ",") } ?? "-")
                + (negotiated.hfIndicators.isEmpty
                    ? "" : " hf \(negotiated.hfIndicators.map { "\($0.rawValue)" }.joined())")
        case .volume(let direction, let value): "volume \(direction.rawValue) \(value)"
        case .battery(let report): "battery \(report.percent) \(report.source.rawValue)"
        case .powerSource(let source): "power \(source.rawValue)"
        case .hfIndicator(let indicator, let value): "indicator \(indicator.rawValue) \(value)"
        case .button(.callKey): "button"
        case .button(.hangUp): "button hangUp"
        case .microphoneMuted(let isMuted): "microphone \(isMuted ? "muted" : "open")"
        case .audioPolicy(let policy):
            "policy \(policy.calls.rawValue) \(policy.activation.rawValue) \(policy.inbandRing.rawValue)"
        case .codecs(let list): "codecs " + list.map(\.description).joined(separator: ",")
        case .codecFailed(let codec, let failure): "codec failed \(codec) \(failure)"
        case .audioFailed(let failure): "audio failed \(failure)"
        case .audioRequested: "audio requested"
        case .ownNoiseReduction: "nrec off"
        case .voiceRecognition(let isOn): "vr \(isOn ? "on" : "off")"
        case .talkKey(let isPressed): "talk \(isPressed ? "pressed" : "released")"
        case .vendor(let report): "vendor \(report.word)"
        }
    }
}
