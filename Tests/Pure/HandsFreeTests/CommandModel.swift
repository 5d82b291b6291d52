import HandsFree
import Telephony
import TestSupport

/// Expected answers to a command line, derived from the profile alone: a table of commands, each with its valid forms and
/// its answer in the state left by earlier commands.
///
/// It does not use the gateway's implementation: features are bits here, and calls are described in words.
struct CommandModel {
    /// Answer: lines, then one final result code; a request is answered by its outcome, a line that is no command by
    /// nothing.
    struct Answer {
        var lines: [String] = []
        var isOK = true
        var request: String?
        var isSilent = false

        static let ok = Answer()
        static let error = Answer(isOK: false)
        static let silence = Answer(isSilent: true)

        static func ok(_ lines: [String]) -> Answer { Answer(lines: lines) }
        static func ask(_ request: String) -> Answer { Answer(request: request) }
    }

    struct Command {
        let line: String
        let answer: Answer
    }

    let gateway: UInt32
    let headset: UInt32
    let configuration: AudioGatewayConfiguration
    let calls: Calls
    private var lastDialed: String?
    private(set) var hasExtendedErrors = false
    /// The headset has sent its features.
    private var knowsHeadset = false
    /// Completed steps of the service level connection.
    private var parts: Set<Part> = []
    /// The service level connection is established.
    private var isConnected = false
    private var hasSaidOtherThings = false

    private enum Part { case values, reporting, threeWay, ours, theirs }

    init(random: inout SeededGenerator) {
        // Codec negotiation, enhanced voice recognition and its text have their own dialogues.
        gateway = UInt32(random.below(0x8000)) & ~0x3200
        headset = UInt32(random.below(0x1000)) & ~0xC80
        calls = Self.tables[random.below(Self.tables.count)]
        var configuration = AudioGatewayConfiguration()
        configuration.features = AudioGatewayFeatures(rawValue: gateway)
        configuration.threeWay = ThreeWayOption.allCases
        configuration.memory = [1: "5551000", 23: "*#"]
        configuration.lastDialed = random.below(2) == 0 ? nil : "5559999"
        configuration.networkOperator = random.below(2) == 0 ? nil : "Net"
        configuration.subscriberNumbers = random.below(2) == 0 ? [] : [SubscriberNumber(number: "+49301", service: 5)]
        configuration.voiceTagNumber = random.below(2) == 0 ? nil : "5557"
        configuration.quota.burst = 10_000
        configuration.quota.perSecond = 10_000
        self.configuration = configuration
        lastDialed = configuration.lastDialed
    }

    private func has(_ bit: Int) -> Bool { gateway >> UInt32(bit) & 1 == 1 }
    private func theyHave(_ bit: Int) -> Bool { knowsHeadset && headset >> UInt32(bit) & 1 == 1 }

    /// Steps of the service level connection; the setting of AT+CMER does not matter (HFP 1.9 §4.2.1).
    private mutating func heard(_ part: Part?) {
        if let part { parts.insert(part) }
        var needed: Set<Part> = [.values, .reporting]
        if has(0) && theyHave(1) { needed.insert(.threeWay) }
        if has(10) && theyHave(8) { needed.formUnion([.ours, .theirs]) }
        if knowsHeadset && parts.isSuperset(of: needed) { isConnected = true }
    }

    /// Initial commands of a headset.
    mutating func connect() -> [Command] {
        let (features, greeting) = hello()
        var commands = [Command(line: features, answer: greeting)]
        let steps: [(Part, String, Answer)] = [
            (.values, "AT+CIND?", .ok([indicatorValues])), (.reporting, "AT+CMER=3,0,0,1", .ok),
            (.threeWay, "AT+CHLD=?", .ok([threeWayList])), (.theirs, "AT+BIND=1,2", .ok),
            (.ours, "AT+BIND?", has(10) ? .ok(["+BIND: 1,1", "+BIND: 2,1"]) : .ok),
        ]
        for (part, line, answer) in steps {
            heard(part)
            commands.append(Command(line: line, answer: answer))
        }
        return commands
    }

    private mutating func hello() -> Case {
        knowsHeadset = true
        heard(nil)
        return ("AT+BRSF=\(headset)", .ok(["+BRSF: \(gateway)"]))
    }

    private var indicatorValues: String {
        let states = Set(calls.calls.map(\.state))
        let isUp = states.contains(.active) || states.contains(.held)
        let setUp = states.contains(.dialing) ? 2 : states.contains(.incoming) || states.contains(.waiting) ? 1 : 0
        let held = states.contains(.held) ? states.contains(.active) ? 1 : 2 : 0
        return "+CIND: 1,\(isUp ? 1 : 0),\(setUp),\(held),5,0,5"
    }

    private var threeWayOptions: [String] {
        guard has(0) else { return ["0", "1"] }
        return has(7) ? ["0", "1", "1x", "2", "2x", "3", "4"] : ["0", "1", "2", "3", "4"]
    }

    private var threeWayList: String { "+CHLD: (\(threeWayOptions.joined(separator: ",")))" }

    // MARK: Random commands

    mutating func command(_ random: inout SeededGenerator) -> Command {
        let commands = [
            basic, features, indicators, reporting, activation, threeWay, hfIndicators, hfValue, notifications,
            callControl,
            dialling, lists, network, hold, tones, volumes, audio, identity, apple, plantronics, csr, android, nonsense,
        ]
        let (line, answer) = commands[random.below(commands.count)](&self, &random)
        return Command(line: Self.spelled(line, &random), answer: answer)
    }

    /// Changes the state after a request was carried out.
    mutating func completed(_ request: String) {
        if request.hasPrefix("dial ") { lastDialed = String(request.dropFirst(5)) }
    }

    /// Notations of headsets: in either case, with blanks and line feeds.
    private static func spelled(_ line: String, _ random: inout SeededGenerator) -> String {
        // The letters of tones are capital.
        guard !line.contains("\""), !line.hasPrefix("AT+VTS") else { return line }
        var line = random.below(4) == 0 ? line.lowercased() : line
        if random.below(4) == 0 {
            line = line.split(separator: ",", omittingEmptySubsequences: false).joined(separator: " , ")
        }
        return random.below(6) == 0 ? "\n" + line + "\n" : line
    }

    private typealias Case = (String, Answer)

    private func pick<T>(_ list: [T], _ random: inout SeededGenerator) -> T { list[random.below(list.count)] }

    private var basic: (inout Self, inout SeededGenerator) -> Case {
        { model, random in
            guard random.below(2) == 0 else { return ("AT", .ok) }
            return ("", model.hasSaidOtherThings ? .silence : .ok)
        }
    }

    private var features: (inout Self, inout SeededGenerator) -> Case {
        { model, random in
            let wrong = model.pick(
                ["AT+BRSF=", "AT+BRSF", "AT+BRSF?", "AT+BRSF=x", "AT+BRSF=-1", "AT+BRSF=1,2"], &random)
            guard random.below(2) == 0 else { return (wrong, .error) }
            return model.hello()
        }
    }

    private var indicators: (inout Self, inout SeededGenerator) -> Case {
        { model, random in
            let names =
                "(\"service\",(0,1)),(\"call\",(0,1)),(\"callsetup\",(0-3)),(\"callheld\",(0-2)),(\"signal\",(0-5)),"
                + "(\"roam\",(0,1)),(\"battchg\",(0-5))"
            guard random.below(4) > 0 else {
                model.heard(.values)
                return ("AT+CIND?", .ok([model.indicatorValues]))
            }
            return model.pick(
                [("AT+CIND=?", .ok(["+CIND: " + names])), ("AT+CIND=1", .error), ("AT+CIND", .error)], &random)
        }
    }

    private var reporting: (inout Self, inout SeededGenerator) -> Case {
        { model, random in
            let (line, answer): Case = model.pick(
                [
                    ("AT+CMER=3,0,0,1", .ok), ("AT+CMER=3,0,0,0", .ok), ("AT+CMER=3,,,1", .ok), ("AT+CMER=0", .ok),
                    ("AT+CMER=1,0,0,1", .ok), ("AT+CMER=3,0,0,1,0", .ok), ("AT+CMER=3,0,0,2", .error),
                    ("AT+CMER=4,0,0,1", .error), ("AT+CMER=", .error), ("AT+CMER?", .error),
                    ("AT+CMER=3,0,0,1,0,0", .error),
                ], &random)
            if answer.isOK { model.heard(.reporting) }
            return (line, answer)
        }
    }

    private var activation: (inout Self, inout SeededGenerator) -> Case {
        { model, random in
            let fields = (0..<random.below(22)).map { _ in ["", "0", "1"][random.below(3)] }
            let list = fields.joined(separator: ",")
            return model.pick(
                [("AT+BIA=\(list)", .ok), ("AT+BIA=\(list),2", .error), ("AT+BIA=\(list),x", .error)], &random)
        }
    }

    private var threeWay: (inout Self, inout SeededGenerator) -> Case {
        { model, random in
            if random.below(5) == 0 {
                model.heard(.threeWay)
                return ("AT+CHLD=?", .ok([model.threeWayList]))
            }
            let value = model.pick(
                ["0", "1", "2", "3", "4", "11", "12", "17", "21", "22", "5", "18", "x", ""], &random)
            let kind = value.count == 2 ? "\(value.first ?? "x")x" : value
            let isPossible =
                model.isConnected && model.threeWayOptions.contains(kind) && model.calls.threeWay.contains(value)
            return ("AT+CHLD=\(value)", isPossible ? .ask("chld \(value)") : .error)
        }
    }

    private var hfIndicators: (inout Self, inout SeededGenerator) -> Case {
        { model, random in
            switch random.below(4) {
            case 0:
                let list = [[1], [2], [1, 2], [2, 9], [65535]][random.below(5)]
                model.heard(.theirs)
                return ("AT+BIND=" + list.map(String.init).joined(separator: ","), .ok)
            case 1: return ("AT+BIND=?", model.has(10) ? .ok(["+BIND: (1,2)"]) : .ok)
            case 2:
                model.heard(.ours)
                return ("AT+BIND?", model.has(10) ? .ok(["+BIND: 1,1", "+BIND: 2,1"]) : .ok)
            default: return (["AT+BIND", "AT+BIND=x", "AT+BIND=1,,2", "AT+BIND=1,65536"][random.below(4)], .error)
            }
        }
    }

    private var hfValue: (inout Self, inout SeededGenerator) -> Case {
        { model, random in
            let good = model.pick(["1,0", "1,1", "2,0", "2,100"], &random)
            let bad = model.pick(["1,2", "2,101", "3,0", "2", "", "2,", ",2", "2,5,1", "x,1", "2,4294967295"], &random)
            return random.below(2) == 0
                ? ("AT+BIEV=\(good)", model.has(10) ? .ok : .error) : ("AT+BIEV=\(bad)", .error)
        }
    }

    private var notifications: (inout Self, inout SeededGenerator) -> Case {
        { model, random in
            let name = model.pick(["CLIP", "CCWA", "CMEE"], &random)
            let value = model.pick(["0", "1", "2", "", "x"], &random)
            let isFlag = value == "0" || value == "1"
            guard isFlag, name != "CMEE" || model.has(8) else { return ("AT+\(name)=\(value)", .error) }
            if name == "CMEE" { model.hasExtendedErrors = value == "1" }
            return ("AT+\(name)=\(value)", .ok)
        }
    }

    /// Before the service level connection no command acts on calls.
    private func usable(_ request: String?) -> String? { isConnected ? request : nil }

    private var callControl: (inout Self, inout SeededGenerator) -> Case {
        { model, random in
            switch random.below(3) {
            case 0: return ("ATA", model.usable(model.calls.answer).map { .ask($0) } ?? .error)
            case 1: return (["ATA1", "AT+CHUP?", "AT+CHUP=1"][random.below(3)], .error)
            default:
                let isRefused = model.calls.rejects && !model.has(5)
                return ("AT+CHUP", isRefused ? .error : model.usable(model.calls.hangUp).map { .ask($0) } ?? .error)
            }
        }
    }

    private var dialling: (inout Self, inout SeededGenerator) -> Case {
        { model, random in
            // One number at a time.
            let isFree = !model.calls.calls.contains { $0.state == .dialing }
            func dialled(_ number: String?) -> Answer {
                (isFree ? model.usable(number) : nil).map { .ask("dial \($0)") } ?? .error
            }
            if random.below(4) == 0 { return ("AT+BLDN", dialled(model.lastDialed)) }
            return model.pick(
                [
                    ("ATD5551;", dialled("5551")), ("ATD+49*#0;", dialled("+49*#0")), ("ATD>1;", dialled("5551000")),
                    ("ATD>23;", dialled("*#")), ("ATD>2;", .error), ("ATD>;", .error), ("ATD5551", .error),
                    ("ATD;", .error), ("ATDx;", .error), ("ATD5a;", .error), ("ATD", .error),
                    ("ATD\(String(repeating: "1", count: 81));", .error),
                ], &random)
        }
    }

    private var lists: (inout Self, inout SeededGenerator) -> Case {
        { model, random in
            switch random.below(4) {
            case 0: return ("AT+CLCC", model.has(6) ? .ok(model.calls.listed) : .ok)
            case 1: return ("AT+BCDI", model.has(14) ? .ok(model.calls.durations) : .error)
            case 2: return (["AT+CLCC?", "AT+BCDI=1", "AT+CNUM=?"][random.below(3)], .error)
            default:
                let isEmpty = model.configuration.subscriberNumbers.isEmpty
                return ("AT+CNUM", isEmpty ? .ok : .ok(["+CNUM: ,\"+49301\",145,,5"]))
            }
        }
    }

    private var network: (inout Self, inout SeededGenerator) -> Case {
        { model, random in
            let name = model.configuration.networkOperator
            return model.pick(
                [
                    ("AT+COPS=3,0", .ok), ("AT+COPS?", .ok([name.map { "+COPS: 0,0,\"\($0)\"" } ?? "+COPS: 0"])),
                    ("AT+COPS=0", .error), ("AT+COPS=3,2", .error), ("AT+COPS", .error), ("AT+COPS=3,0,0", .error),
                ], &random)
        }
    }

    private var hold: (inout Self, inout SeededGenerator) -> Case {
        { model, random in
            model.pick(
                [("AT+BTRH?", .ok), ("AT+BTRH=0", .error), ("AT+BTRH=2", .error), ("AT+BTRH=3", .error)], &random)
        }
    }

    private var tones: (inout Self, inout SeededGenerator) -> Case {
        { model, random in
            let tone = model.pick(["0", "9", "*", "#", "A", "D"], &random)
            let bad = model.pick(["", "E", "a", "d", "12", "1,x", "1,2,3"], &random)
            guard random.below(2) == 0 else { return ("AT+VTS=\(bad)", .error) }
            return ("AT+VTS=\(tone)", model.isConnected && model.calls.isTalking ? .ask("dtmf \(tone)") : .error)
        }
    }

    private var volumes: (inout Self, inout SeededGenerator) -> Case {
        { model, random in
            let name = model.pick(["VGS", "VGM"], &random)
            let good = random.below(16)
            let bad = model.pick(["=16", "=-1", "=", "", "?", "=1,2", "=x", "=999999999999"], &random)
            return random.below(2) == 0 ? ("AT+\(name)=\(good)", .ok) : ("AT+\(name)\(bad)", .error)
        }
    }

    private var audio: (inout Self, inout SeededGenerator) -> Case {
        { model, random in
            switch random.below(5) {
            case 0: return ("AT+NREC=0", model.has(1) ? .ok : .error)
            case 1: return ("AT+BVRA=\(random.below(2))", model.has(2) && model.theyHave(3) ? .ok : .error)
            case 2:
                let number = model.configuration.voiceTagNumber
                return ("AT+BINP=1", model.has(4) ? number.map { .ok(["+BINP: \"\($0)\""]) } ?? .error : .error)
            case 3: return (["AT+BCC", "AT+BAC=1,2", "AT+BCS=1"][random.below(3)], .error)
            default:
                return (
                    ["AT+NREC=1", "AT+NREC=2", "AT+BVRA=2", "AT+BVRA", "AT+BINP=2", "AT+BCS="][random.below(6)], .error
                )
            }
        }
    }

    private var identity: (inout Self, inout SeededGenerator) -> Case {
        { model, random in
            model.pick(
                [
                    ("AT+CGMI", .ok(["btcall"])), ("AT+GMM", .ok(["btcall"])), ("AT+CGMR", .ok(["1"])),
                    ("AT+CGMI?", .error),
                    ("AT+CKPD=200", model.isConnected ? .ok : .error), ("AT+CKPD=1", .error),
                ], &random)
        }
    }

    private var apple: (inout Self, inout SeededGenerator) -> Case {
        { model, random in
            model.pick(
                [
                    ("AT+XAPL=AB-12-0100,2", .ok(["+XAPL=iPhone,6"])), ("AT+IPHONEACCEV=2,1,4,2,0", .ok),
                    ("AT+IPHONEACCEV=1,1,10", .error), ("AT+IPHONEACCEV=17", .error),
                    ("AT+APLSIRI?", .ok(["+APLSIRI: 0"])),
                    ("AT+APLEFM=1", .ok), ("AT+XAPL?", .error), ("AT+XAPL=AB-12,2", .error),
                    ("AT+XAPL=A-B-C-D,2", .error),
                ], &random)
        }
    }

    private var plantronics: (inout Self, inout SeededGenerator) -> Case {
        { model, random in
            model.pick(
                [
                    ("AT+XEVENT=BATTERY,3,11,100,0", .ok), ("AT+XEVENT=BATTERY,3", .ok), ("AT+XEVENT=BATTERY", .error),
                    ("AT+XEVENT=DON", .ok), ("AT+XEVENT=TALK,1", .ok), ("AT+XEVENT=1", .error),
                    ("AT+XEVENT=BATTERY,3,0", .error),
                ], &random)
        }
    }

    private var csr: (inout Self, inout SeededGenerator) -> Case {
        { model, random in
            model.pick(
                [
                    ("AT+CSRSF=1,1,1,1,0,7", .ok(["+CSRSF: 0,0,0,1,0,0"])), ("AT+CSRSF=1", .error),
                    ("AT+CSRBATT=5", .ok),
                    ("AT+CSRBATT=11", .error), ("AT+CSRPWR=2", .ok), ("AT+CSRPWR=0", .error), ("AT+CSR=0", .ok),
                    ("AT+CSR=(4,1)", .ok), ("AT+CSR=4", .error),
                    ("AT+CSRFN=(6,2)", Answer(lines: ["+CSRFN: (6,0)"], isOK: false)),
                ], &random)
        }
    }

    private var android: (inout Self, inout SeededGenerator) -> Case {
        { model, random in
            model.pick(
                [
                    ("AT+ANDROID=?", .ok(["+ANDROID: (SINKAUDIOPOLICY)"])), ("AT+ANDROID=SINKAUDIOPOLICY,1,1,1", .ok),
                    ("AT+ANDROID=SINKAUDIOPOLICY,1,1", .error), ("AT+ANDROID=XHSTBATSOC,50", .ok),
                    ("AT+ANDROID=OTHER", .error), ("AT+ANDROID?", .error),
                ], &random)
        }
    }

    /// Lines that are no command, or an unknown one.
    private var nonsense: (inout Self, inout SeededGenerator) -> Case {
        { model, random in
            let letters = Array("QXYZ")
            let word = String((0..<1 + random.below(8)).map { _ in letters[random.below(letters.count)] })
            guard random.below(8) > 0 else {
                model.hasSaidOtherThings = true
                return (model.pick([word, "OK", "+\(word)", "A"], &random), .silence)
            }
            return model.pick(
                [
                    ("AT+\(word)", .error), ("AT+\(word)=1,2", .error), ("AT+\(word)?", .error),
                    ("AT%\(word)", .error), ("AT+", .error), ("ATZ", .error), ("AT+VGS=1;+VGM=1", .error),
                    (String(repeating: "A", count: ATReader.limit + 1 + random.below(100)), .error),
                ], &random)
        }
    }
}
