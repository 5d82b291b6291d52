import BluetoothTypes
import HandsFree
import Telephony

/// Events other than bytes, by the first byte of the step (README.md has the table).
extension GatewayWorld {
    mutating func step(_ kind: UInt8, _ steps: inout StepReader) throws(BrokenRule) {
        switch kind {
        case 0x80: break
        case 0x81:
            let time = Int(steps.byte())
            try pass(.milliseconds(time * time), isLate: false)
        case 0x82:
            let time = Int(steps.byte())
            try pass(.milliseconds(time * time), isLate: true)
        case 0x83: try callsChanged(snapshot(&steps), isSwapped: false)
        case 0x84: party.number = text(&steps)
        case 0x85: party.name = text(&steps)
        case 0x86: try complete(.done)
        case 0x87: try complete(.failed(CMEError(code: Int(steps.byte()) * 4)))
        case 0x88: try setIndicator(&steps)
        case 0x89:
            let value = Int(Int8(bitPattern: steps.byte()))
            try both { gateway in gateway.setSpeakerVolume(value) }
        case 0x8A:
            let value = Int(Int8(bitPattern: steps.byte()))
            try both { gateway in gateway.setMicrophoneVolume(value) }
        case 0x8B:
            let isOn = steps.flag()
            configuration.inbandRing = isOn
            try both { gateway in gateway.setInbandRing(isOn) }
        case 0x8C:
            let isOn = steps.flag()
            try both { gateway in gateway.setVoiceRecognition(isOn) }
        case 0x8D:
            let indicator = HFIndicator.allCases[steps.below(2)]
            let isOn = steps.flag()
            try both { gateway in gateway.setHFIndicator(indicator, isEnabled: isOn) }
        case 0x8E:
            let isOn = steps.flag()
            try both { gateway in gateway.setVirtualCall(isOn) }
        case 0x8F: try reconfigure(&steps)
        case 0x90: try callsChanged(calls, isSwapped: true)
        case 0x91:
            let number = party.number
            try both { gateway in
                gateway.setLastDialed(number)
                return []
            }
        case 0x92:
            // An unknown request.
            let id = GatewayRequestID(UInt32(steps.byte()) &+ 1000)
            try both { [now] gateway in gateway.requestCompleted(id, .done, at: now) }
        case 0x93: try both { [now] gateway in gateway.deadlineReached(at: now) }
        case 0x94: try reconnect()
        default: try stepOfAudio(kind, &steps)
        }
    }

    private mutating func stepOfAudio(_ kind: UInt8, _ steps: inout StepReader) throws(BrokenRule) {
        guard gateway.isOpen else { return }
        switch kind {
        case 0xA0:
            let hint = VoiceCodec(rawValue: UInt8(steps.below(4)))
            try both { [now] gateway in gateway.audioRequested(.connect(hint: hint), at: now) }
        case 0xA1: try both { [now] gateway in gateway.audioRequested(.disconnect, at: now) }
        case 0xA2: try openLink()
        case 0xA3: try failLink([.refused, .timedOut, .failed, .unsupportedCodec, .busy, .cancelled][steps.below(6)])
        case 0xA4:
            guard link == .open || link == .closing(isHalf: false) else { return }
            link = .idle
            try both { [now] gateway in gateway.audioClosed(at: now) }
        case 0xA5: try offerLink()
        default: break
        }
    }

    private mutating func openLink() throws(BrokenRule) {
        switch link {
        case .opening(let codec), .accepting(let codec):
            link = .open
            try both { [now] gateway in gateway.audioOpened(codec, at: now) }
        case .closing(isHalf: true):
            // It opened while the order to close it was on its way.
            link = .closing(isHalf: false)
            try both { [now] gateway in gateway.audioOpened(.cvsd, at: now) }
        case .idle, .open, .closing(isHalf: false): break
        }
    }

    private mutating func failLink(_ failure: AudioFailure) throws(BrokenRule) {
        switch link {
        case .opening, .accepting, .closing(isHalf: true):
            link = .idle
            try both { [now] gateway in gateway.audioFailed(failure, at: now) }
        case .idle, .open, .closing(isHalf: false): break
        }
    }

    private mutating func setIndicator(_ steps: inout StepReader) throws(BrokenRule) {
        let indicator = Indicator.allCases[steps.below(Indicator.allCases.count)]
        let value = Int(Int8(bitPattern: steps.byte()))
        guard !indicator.isMandatory else { return }
        values[indicator] = value
        try both { [now] gateway in gateway.setIndicator(indicator, value, at: now) }
    }

    private mutating func reconfigure(_ steps: inout StepReader) throws(BrokenRule) {
        let wanted = steps.byte()
        let codecs = VoiceCodec.allCases.filter { wanted >> $0.rawValue & 1 == 1 }
        configuration.codecs = Array(Set(configuration.codecs + codecs)).sorted { $0.rawValue < $1.rawValue }
        configuration.networkOperator = party.name
        let name = party.name
        try both { gateway in
            gateway.reconfigure(codecs: codecs, networkOperator: name)
            return []
        }
    }

    private func text(_ steps: inout StepReader) -> String? {
        let bytes = steps.bytes(limit: 100)
        return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
    }

    /// Reads a count, then for each call its state and number. Two calls have neither the same index nor the same name.
    private func snapshot(_ steps: inout StepReader) -> CallSnapshot {
        var list: [Call] = []
        for _ in 0..<steps.below(8) {
            let what = steps.byte()
            let who = steps.byte()
            let states: [CallState] = [.setup, .dialing, .alerting, .incoming, .waiting, .active, .held, .held]
            let index = Int(who & 7)
            let id = CallID(UInt32(who >> 3 & 15) + 1)
            guard index > 0, !list.contains(where: { $0.index == index || $0.id == id }) else { continue }
            let isKnown = who & 0x80 != 0
            list.append(
                Call(
                    id: id, provider: "p", direction: what & 0x10 == 0 ? .incoming : .outgoing,
                    state: states[Int(what & 7)],
                    details: CallDetails(
                        number: isKnown ? party.number : nil, numberType: what & 0x40 == 0 ? nil : Int(what),
                        name: isKnown && what & 0x80 == 0 ? party.name : nil),
                    index: index, isConference: what & 0x08 != 0))
        }
        return CallSnapshot(list)
    }
}
