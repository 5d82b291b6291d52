import BluetoothTypes
import Glibc
import HandsFree
import Telephony
import TestSupport
import Testing

@Suite struct AudioGatewayFuzzTests {
    static let words = [
        "AT", "+BRSF=", "+BAC=", "+BCC", "+BCS=", "+CIND", "+CMER=3,0,0,1", "+BIA=", "+CHLD=", "+BIND=", "+BIEV=",
        "+CLIP=",
        "+CCWA=", "+CMEE=1", "+CHUP", "+BLDN", "+CLCC", "+CNUM", "+COPS", "+BTRH", "+VTS=", "+VGS=", "+VGM=", "+NREC=",
        "+BVRA=", "+XAPL=", "+IPHONEACCEV=", "+XEVENT=BATTERY,", "+CGMI", "D>", "D", ";", "A", "1", "2", "255", ",",
        "?", "+CSRSF=", "+CSR=(", "+CSRBATT=", "+ANDROID=", "SINKAUDIOPOLICY,1,1,", "+BCDI", "+CKPD=200", "(4,1)", "=",
        "\"", "\r", "\r", "\r", "\n", " ", "-", "99999999999", "é", "\u{0}",
    ]

    /// Lines that receive a result code: commands and lines that are too long; an empty one until something else arrived.
    private static func answered(
        _ inputs: [ATReader.Input], _ saysOtherThings: inout Bool, isHeadsetProfile: Bool
    ) -> Int {
        var count = 0
        for input in inputs {
            guard case .line(let line) = input else {
                count += 1
                continue
            }
            let text = String(decoding: line.prefix(2), as: UTF8.self)
            if text.uppercased() == "AT" || isHeadsetProfile && text.hasPrefix("+") {
                count += 1
            } else if !line.isEmpty {
                saysOtherThings = true
            } else if !saysOtherThings {
                count += 1
            }
        }
        return count
    }

    @Test(arguments: randomCourses(20))
    func `random bytes never trap and every command receives one final answer`(_ seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        var configuration = AudioGatewayConfiguration()
        configuration.quota.burst = 10_000
        configuration.quota.perSecond = 10_000
        configuration.features = AudioGatewayFeatures(rawValue: UInt32(truncatingIfNeeded: random.next()))
        configuration.profile = random.below(4) == 0 ? .headset : .handsFree
        configuration.responseAndHold = random.below(2) == 0
        var gateway = AudioGateway(configuration: configuration)
        _ = gateway.start(at: .zero)
        var reader = ATReader()
        var saysOtherThings = false
        var commands = 0
        var answers = 0
        var now = Instant.zero
        for _ in 0..<4000 {
            let bytes: [UInt8] =
                random.below(4) == 0
                ? (0..<random.below(40)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
                : Array((Self.words.randomElement(using: &random) ?? "").utf8)
            commands += Self.answered(
                reader.read(bytes), &saysOtherThings, isHeadsetProfile: configuration.profile == .headset)
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
        #expect(answers == commands)
        #expect(gateway.keptBytes <= ATReader.limit)
    }

    @Test(arguments: randomCourses(20))
    func `random events keep the rules of the protocol`(_ seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed) &+ 1000)
        var configuration = AudioGatewayConfiguration()
        configuration.quota.burst = 10_000
        configuration.codecs = [.lc3SWB, .mSBC, .cvsd]
        configuration.virtualCall = VirtualCall.allCases[random.below(3)]
        configuration.responseAndHold = random.below(2) == 0
        configuration.audioDelay = .milliseconds(random.below(2) * 250)
        configuration.volumeResend = random.below(2) == 0 ? nil : .milliseconds(1500)
        configuration.speakerCeiling = 15 - seed % 3 * 6
        configuration.quirks.refusesFirstAudio = random.below(2) == 0
        var player = RulesKeeper(gateway: AudioGateway(configuration: configuration))
        player.watch(player.gateway.start(at: .zero))
        for line in [
            "AT+BRSF=511", "AT+BAC=1,2,3", "AT+CIND?", "AT+CMER=3,0,0,1", "AT+CHLD=?", "AT+BIND=2", "AT+BIND?",
            "AT+CLIP=1",
        ] {
            player.hear(line)
        }
        #expect(player.gateway.isEstablished)
        for _ in 0..<1500 where player.gateway.isOpen { player.step(&random) }
    }

    @Test(arguments: randomCourses(10))
    func `a headset of the Headset Profile receives RING, volumes and replies, and nothing else`(_ seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed) &+ 2000)
        var configuration = AudioGatewayConfiguration()
        configuration.quota.burst = 10_000
        configuration.profile = .headset
        configuration.responseAndHold = true
        configuration.virtualCall = .withAudio
        var player = RulesKeeper(gateway: AudioGateway(configuration: configuration))
        player.watch(player.gateway.start(at: .zero))
        #expect(player.gateway.isEstablished)
        for _ in 0..<1500 where player.gateway.isOpen { player.step(&random) }
        let allowed = ["OK", "ERROR", "RING", "+VGS=", "+VGM="]
        #expect(player.said.filter { line in !allowed.contains { line.hasPrefix($0) } } == [])
    }
}

/// Feeds a gateway and checks the invariants after every input.
struct RulesKeeper {
    var gateway: AudioGateway
    private var now = Instant.zero
    private var deadline: Instant?
    private var pending: [GatewayRequestID] = []
    private var known: [Indicator: Int] = [:]
    /// Every kind of line that was sent.
    private(set) var said: Set<String> = []

    init(gateway: AudioGateway) {
        self.gateway = gateway
    }

    mutating func hear(_ line: String) {
        watch(gateway.bytesReceived(Array((line + "\r").utf8), at: now))
    }

    mutating func step(_ random: inout SeededGenerator) {
        now = now.advanced(by: .milliseconds(Int64(random.below(400))))
        var wakeUps = 0
        while let next = deadline, next <= now, wakeUps < 5 {
            deadline = nil
            watch(gateway.deadlineReached(at: now))
            wakeUps += 1
        }
        #expect(wakeUps < 5, "deadlines come to rest")
        switch random.below(18) {
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
        case 13: watch(gateway.setVirtualCall(random.below(2) == 0))
        case 14: watch(gateway.setIndicator(.service, random.below(2), at: now))
        case 15: watch(gateway.setSpeakerVolume(random.below(16)))
        case 16: hear(["AT+CKPD=200", "AT+BTRH=0", "AT+BTRH=1", "AT+VGM=5", "AT+CLCC"][random.below(5)])
        default: hear("AT+CIND?")
        }
    }

    private mutating func complete(_ random: inout SeededGenerator) {
        guard !pending.isEmpty else { return }
        let id = pending.removeFirst()
        watch(gateway.requestCompleted(id, random.below(2) == 0 ? .done : .failed(.notAllowed), at: now))
    }

    private mutating func answerAudio(_ random: inout SeededGenerator) {
        guard case .connecting(let codec) = gateway.audioState else { return }
        let failures: [AudioFailure] = [.refused, .busy, .cancelled]
        if random.below(2) == 0 {
            watch(gateway.audioOpened(codec, at: now))
        } else {
            watch(gateway.audioFailed(failures.randomElement(using: &random) ?? .failed, at: now))
        }
    }

    private func randomCalls(_ random: inout SeededGenerator) -> CallSnapshot {
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
        // More commands queued behind a request than allowed: the only way in which a course may end early.
        #expect(gateway.isOpen || actions.last == .closeConnection(.flooded))
        for action in actions {
            if case .send(let line) = action { said.insert(line.text) }
            switch action {
            case .send(.indicator(let indicator, let value)):
                // The only exception: active and held have changed places.
                #expect(known[indicator] != value || (indicator == .callHeld && value == 1), "\(indicator) \(value)")
                known[indicator] = value
                #expect(pending.isEmpty, "unsolicited before the reply")
            case .send(.indicatorValues(let values)):
                for indicator in Indicator.allCases { known[indicator] = values[indicator] }
            case .send(.ring), .send(.codec), .send(.callWaiting), .send(.noCarrier), .send(.responseAndHold):
                #expect(pending.isEmpty, "\(action)")
            case .send(.speakerVolume(let volume)), .send(.headsetSpeakerVolume(let volume)):
                #expect(pending.isEmpty, "\(action)")
                #expect(volume <= gateway.configuration.speakerCeiling)
            case .event(.volume(.speaker, let volume)): #expect(volume <= gateway.configuration.speakerCeiling)
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

/// Processor time of the calling thread.
private func processorSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

@Suite struct AudioGatewayLimitTests {
    /// With an established service level connection.
    private static func connected(
        _ configuration: AudioGatewayConfiguration = AudioGatewayConfiguration()
    ) -> AudioGateway {
        var gateway = AudioGateway(configuration: configuration)
        _ = gateway.start(at: .zero)
        _ = gateway.bytesReceived(Array("AT+BRSF=28\rAT+CIND?\rAT+CMER=3,0,0,1\r".utf8), at: .zero)
        #expect(gateway.isEstablished)
        return gateway
    }

    @Test func `a flood ends the connection`() {
        var gateway = AudioGateway(configuration: AudioGatewayConfiguration())
        _ = gateway.start(at: .zero)
        let actions = gateway.bytesReceived(Array(String(repeating: "AT+X\r", count: 300).utf8), at: .zero)
        #expect(actions.count(where: { $0 == .send(.error) }) == 200)
        #expect(actions.suffix(2) == [.setDeadline(nil), .closeConnection(.flooded)])
        #expect(gateway.bytesReceived(Array("AT\r".utf8), at: .zero).isEmpty)
    }

    @Test func `commands queue behind a request only up to a limit`() {
        var gateway = Self.connected()
        #expect(
            gateway.bytesReceived(Array("ATD1;\r".utf8), at: .zero).contains(.request(.dial(number: "1"), id: .init(1)))
        )
        let more = gateway.bytesReceived(Array(String(repeating: "AT\r", count: 33).utf8), at: .zero)
        #expect(more.last == .closeConnection(.flooded))
    }

    @Test func `nothing is sent after the connection is lost`() {
        var gateway = AudioGateway(configuration: AudioGatewayConfiguration())
        _ = gateway.start(at: .zero)
        #expect(gateway.connectionLost() == [.setDeadline(nil)])
        let call = Call(id: CallID(1), provider: "p", direction: .incoming, state: .incoming, index: 1)
        #expect(gateway.callsChanged(CallSnapshot([call]), at: .zero).isEmpty)
        #expect(gateway.setSpeakerVolume(3).isEmpty)
        #expect(gateway.deadlineReached(at: Instant(milliseconds: 99_999)).isEmpty)
    }

    /// Input with which a headset could make us store, or search, as much as possible.
    static let floods = [
        "A", "AT+BIA=,,,,,,,,", "\"", "\"\r", ",", "\n", " ", "AT", "AT\r", "AT+XEVENT=\"", "D>", "\u{0}", "(4,1),",
    ]

    @Test(arguments: floods)
    func `storage and time for a headset's input are bounded, whatever it sends`(_ piece: String) {
        var configuration = AudioGatewayConfiguration()
        configuration.quota.burst = 10_000
        configuration.quota.perSecond = 10_000
        let bytes = Array(String(repeating: piece, count: 40_000 / piece.utf8.count).utf8)
        /// Processor time, best of three, because other programs run too.
        func seconds(_ times: Int) -> Double {
            let all = (0..<3).map { _ in
                var gateway = Self.connected(configuration)
                // A request is pending, so that commands are queued.
                let dialled = gateway.bytesReceived(Array("ATD1;\r".utf8), at: .zero)
                #expect(dialled.contains(.request(.dial(number: "1"), id: .init(1))))
                let begin = processorSeconds()
                for _ in 0..<times {
                    _ = gateway.bytesReceived(bytes, at: .zero)
                    #expect(gateway.keptBytes <= ATReader.limit * (AudioGateway.queueLimit + 1))
                }
                return processorSeconds() - begin
            }
            return all.min() ?? 0
        }
        let (few, many) = (seconds(1), seconds(8))
        #expect(many <= max(few, 0.002) * 32, "eight times the bytes cost \(many / few) times as much")
    }

    @Test func `a headset that delays replies is disconnected before much is stored for it`() {
        var configuration = AudioGatewayConfiguration()
        configuration.requestTimeout = .seconds(3600)
        var gateway = Self.connected(configuration)
        _ = gateway.bytesReceived(Array("ATD1;\r".utf8), at: .zero)
        var actions: [AudioGateway.Action] = []
        var turns = 0
        while gateway.isOpen, turns < 1000 {
            turns += 1
            actions += gateway.setSpeakerVolume(turns % 16)
            #expect(gateway.keptBytes <= AudioGateway.deferredLimit * 16)
        }
        #expect(actions.last == .closeConnection(.outputOverflow))
        #expect(turns == AudioGateway.deferredLimit + 1)
    }

    /// Either side reads the other's lines as its own, like one that echoes.
    @Test(arguments: [AudioGatewayConfiguration.Profile.handsFree, .headset])
    func `a headset that echoes everything causes no endless dialogue`(
        _ profile: AudioGatewayConfiguration.Profile
    ) {
        var configuration = AudioGatewayConfiguration()
        configuration.profile = profile
        var gateway = AudioGateway(configuration: configuration)
        var heard = gateway.start(at: .zero).sentBytes
        heard += gateway.bytesReceived(Array("AT+BRSF=28\rAT+CIND?\rAT+CMER=3,0,0,1\r".utf8), at: .zero).sentBytes
        let call = Call(id: CallID(1), provider: "p", direction: .incoming, state: .incoming, index: 1)
        heard += gateway.callsChanged(CallSnapshot([call]), at: .zero).sentBytes
        heard += gateway.setSpeakerVolume(5).sentBytes
        #expect(!heard.isEmpty)
        var turns = 0
        while !heard.isEmpty, turns < 10 {
            heard = gateway.bytesReceived(heard, at: .zero).sentBytes
            turns += 1
        }
        #expect(heard.isEmpty)
        #expect(gateway.isOpen)
    }

    @Test func `a line that is too long is one error`() {
        var gateway = AudioGateway(configuration: AudioGatewayConfiguration())
        _ = gateway.start(at: .zero)
        let actions = gateway.bytesReceived([UInt8](repeating: 65, count: 5000) + [13], at: .zero)
        #expect(actions == [.send(.error)])
    }
}

extension [AudioGateway.Action] {
    fileprivate var sentBytes: [UInt8] {
        reduce(into: []) { bytes, action in
            if case .send(let code) = action { bytes += code.bytes }
        }
    }
}
