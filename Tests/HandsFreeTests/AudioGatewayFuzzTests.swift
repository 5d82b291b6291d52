import BluetoothTypes
import HandsFree
import Telephony
import Testing

@Suite struct AudioGatewayFuzzTests {
    static let words = [
        "AT", "+BRSF=", "+BAC=", "+BCC", "+BCS=", "+CIND", "+CMER=3,0,0,1", "+BIA=", "+CHLD=", "+BIND=", "+BIEV=",
        "+CLIP=",
        "+CCWA=", "+CMEE=1", "+CHUP", "+BLDN", "+CLCC", "+CNUM", "+COPS", "+BTRH", "+VTS=", "+VGS=", "+VGM=", "+NREC=",
        "+BVRA=", "+XAPL=", "+IPHONEACCEV=", "+XEVENT=BATTERY,", "+CGMI", "D>", "D", ";", "A", "1", "2", "255", ",",
        "?",
        "\"", "\r", "\r", "\r", "\n", " ", "-", "99999999999", "é", "\u{0}",
    ]

    @Test(arguments: randomCourses(20))
    func `random bytes never trap and every line gets one final answer`(_ seed: Int) {
        var random = SeededRandom(seed: UInt64(seed))
        var configuration = AudioGatewayConfiguration()
        configuration.quota.burst = 10_000
        configuration.quota.perSecond = 10_000
        configuration.features = AudioGatewayFeatures(rawValue: UInt32(truncatingIfNeeded: random.next()))
        var gateway = AudioGateway(configuration: configuration)
        _ = gateway.start(at: .zero)
        var reader = ATReader()
        var lines = 0
        var answers = 0
        var now = Instant.zero
        for _ in 0..<4000 {
            let bytes: [UInt8] =
                random.below(4) == 0
                ? (0..<random.below(40)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
                : Array((Self.words.randomElement(using: &random) ?? "").utf8)
            lines += reader.read(bytes).count
            now = now.advanced(by: .milliseconds(1))
            var actions = gateway.bytesReceived(bytes, at: now)
            var position = 0
            while position < actions.count {
                switch actions[position] {
                case .send(.ok), .send(.error), .send(.cmeError): answers += 1
                case .request(_, let id):
                    actions += gateway.requestCompleted(
                        id, random.below(2) == 0 ? .done : .failed(.notAllowed), at: now)
                case .send, .connectAudio, .disconnectAudio, .acceptAudio, .rejectAudio, .setDeadline, .event,
                    .closeConnection, .fault:
                    break
                }
                position += 1
            }
        }
        #expect(gateway.isOpen)
        #expect(answers == lines)
    }

    @Test(arguments: randomCourses(20))
    func `random events keep the rules of the protocol`(_ seed: Int) {
        var random = SeededRandom(seed: UInt64(seed) &+ 1000)
        var configuration = AudioGatewayConfiguration()
        configuration.quota.burst = 10_000
        configuration.codecs = [.lc3SWB, .mSBC, .cvsd]
        var player = RulesKeeper(gateway: AudioGateway(configuration: configuration))
        player.watch(player.gateway.start(at: .zero))
        for line in [
            "AT+BRSF=511", "AT+BAC=1,2,3", "AT+CIND?", "AT+CMER=3,0,0,1", "AT+CHLD=?", "AT+BIND=2", "AT+BIND?",
            "AT+CLIP=1",
        ] {
            player.hear(line)
        }
        #expect(player.gateway.isEstablished)
        for _ in 0..<1500 { player.step(&random) }
    }
}

/// Feeds a gateway and checks what must hold after every input.
struct RulesKeeper {
    var gateway: AudioGateway
    private var now = Instant.zero
    private var deadline: Instant?
    private var pending: [GatewayRequestID] = []
    private var known: [Indicator: Int] = [:]
    private var isAudioAsked = false
    private var proposals = 0

    init(gateway: AudioGateway) {
        self.gateway = gateway
    }

    mutating func hear(_ line: String) {
        watch(gateway.bytesReceived(Array((line + "\r").utf8), at: now))
    }

    mutating func step(_ random: inout SeededRandom) {
        now = now.advanced(by: .milliseconds(Int64(random.below(400))))
        var wakeUps = 0
        while let next = deadline, next <= now, wakeUps < 5 {
            deadline = nil
            watch(gateway.deadlineReached(at: now))
            wakeUps += 1
        }
        #expect(wakeUps < 5, "deadlines come to rest")
        switch random.below(14) {
        case 0: watch(gateway.callsChanged(randomCalls(&random), at: now))
        case 1: watch(gateway.setIndicator(.signal, random.below(8)))
        case 2: hear(["ATA", "AT+CHUP", "ATD5;", "AT+CHLD=2", "AT+VTS=1"].randomElement(using: &random) ?? "")
        case 3, 4: complete(&random)
        case 5:
            watch(gateway.audioRequested(.connect(hint: VoiceCodec.allCases.randomElement(using: &random)), at: now))
        case 6: watch(gateway.audioRequested(.disconnect, at: now))
        case 7: hear("AT+BCS=\(random.below(4))")
        case 8: hear(["AT+BAC=1", "AT+BAC=1,2", "AT+BAC=1,2,3"].randomElement(using: &random) ?? "")
        case 9: answerAudio(&random)
        case 10: hear("AT+BCC")
        case 11: watch(gateway.audioIncoming())
        case 12: watch(gateway.audioClosed(at: now))
        default: hear("AT+CIND?")
        }
    }

    private mutating func complete(_ random: inout SeededRandom) {
        guard !pending.isEmpty else { return }
        let id = pending.removeFirst()
        watch(gateway.requestCompleted(id, random.below(2) == 0 ? .done : .failed(.notAllowed), at: now))
    }

    private mutating func answerAudio(_ random: inout SeededRandom) {
        guard case .connecting(let codec) = gateway.audioState else { return }
        let failures: [AudioFailure] = [.refused, .busy, .cancelled]
        if random.below(2) == 0 {
            watch(gateway.audioOpened(codec))
        } else {
            watch(gateway.audioFailed(failures.randomElement(using: &random) ?? .failed, at: now))
        }
    }

    private func randomCalls(_ random: inout SeededRandom) -> CallSnapshot {
        let states: [CallState] = [.dialing, .alerting, .incoming, .waiting, .active, .held, .setup]
        return CallSnapshot(
            (1...3).compactMap { index in
                guard random.below(2) == 0 else { return nil }
                return Call(
                    id: CallID(UInt32(index)), provider: "p", direction: .incoming,
                    state: states.randomElement(using: &random) ?? .active, index: index)
            })
    }

    mutating func watch(_ actions: [AudioGateway.Action]) {
        #expect(gateway.isOpen)
        for action in actions {
            switch action {
            case .send(.indicator(let indicator, let value)):
                // The one exception: active and held have changed places.
                #expect(known[indicator] != value || (indicator == .callHeld && value == 1), "\(indicator) \(value)")
                known[indicator] = value
                #expect(pending.isEmpty, "unsolicited before the reply")
            case .send(.indicatorValues(let values)):
                for indicator in Indicator.allCases { known[indicator] = values[indicator] }
            case .send(.ring), .send(.codec), .send(.callWaiting): #expect(pending.isEmpty, "\(action)")
            case .send(.ok), .send(.error): pending = []
            case .setDeadline(let next): deadline = next
            case .request(_, let id):
                #expect(pending.isEmpty)
                pending = [id]
            case .fault(let reason): Issue.record("fault: \(reason)")
            case .send, .connectAudio, .disconnectAudio, .acceptAudio, .rejectAudio, .event, .closeConnection: break
            }
        }
    }
}

@Suite struct AudioGatewayLimitTests {
    @Test func `a flood ends the connection`() {
        var gateway = AudioGateway(configuration: AudioGatewayConfiguration())
        _ = gateway.start(at: .zero)
        let actions = gateway.bytesReceived(Array(String(repeating: "AT+X\r", count: 300).utf8), at: .zero)
        #expect(actions.count(where: { $0 == .send(.error) }) == 200)
        #expect(actions.suffix(2) == [.setDeadline(nil), .closeConnection(.flooded)])
        #expect(gateway.bytesReceived(Array("AT\r".utf8), at: .zero).isEmpty)
    }

    @Test func `commands pile up behind a request only so far`() {
        var gateway = AudioGateway(configuration: AudioGatewayConfiguration())
        _ = gateway.start(at: .zero)
        #expect(
            gateway.bytesReceived(Array("ATD1;\r".utf8), at: .zero).contains(.request(.dial(number: "1"), id: .init(1)))
        )
        let more = gateway.bytesReceived(Array(String(repeating: "AT\r", count: 33).utf8), at: .zero)
        #expect(more.last == .closeConnection(.flooded))
    }

    @Test func `after the connection is lost nothing is said`() {
        var gateway = AudioGateway(configuration: AudioGatewayConfiguration())
        _ = gateway.start(at: .zero)
        #expect(gateway.connectionLost() == [.setDeadline(nil)])
        #expect(gateway.callsChanged(CallSnapshot(parseCalls("1 in incoming 5")), at: .zero).isEmpty)
        #expect(gateway.setSpeakerVolume(3).isEmpty)
        #expect(gateway.deadlineReached(at: Instant(milliseconds: 99_999)).isEmpty)
    }

    @Test func `a line that is too long is one error`() {
        var gateway = AudioGateway(configuration: AudioGatewayConfiguration())
        _ = gateway.start(at: .zero)
        let actions = gateway.bytesReceived([UInt8](repeating: 65, count: 5000) + [13], at: .zero)
        #expect(actions == [.send(.error)])
    }
}
