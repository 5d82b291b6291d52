import BluetoothTypes
import Glibc
import HandsFree
import Telephony

/// Cost of one AT command for the Audio Gateway: processor time and allocations, early in a connection and after a hundred
/// thousand commands. The only requirement is that the cost does not grow with the length of the connection.
///
/// The shortest of several connections counts: the machine also does other work. Allocations are counted only with
/// `allocation-counter.so` preloaded.
@main struct CommandBench {
    private static let window = 4_000
    private static let between = 100_000
    private static let repetitions = 5
    /// Allocations are the same in every run; processor time varies.
    private static let allocationLimit = 1.02
    private static let timeLimit = 1.5

    static func main() {
        var early = Cost.most
        var late = Cost.most
        var kept = (early: 0, late: 0)
        for _ in 0..<repetitions {
            var course = CommandCourse()
            // One-time allocations are not counted.
            course.run(500)
            early.improve(Cost.of { course.run(window) })
            kept.early = course.keptBytes
            course.run(between)
            late.improve(Cost.of { course.run(window) })
            kept.late = course.keptBytes
            guard course.isIntact else { fail("a command was not answered, or the connection ended") }
        }
        print("AT commands          us/command  allocations/command  bytes kept")
        show("after the set-up", early, kept.early)
        show("\(between) later", late, kept.late)
        let ratio = (time: late.seconds / early.seconds, allocations: late.allocations / early.allocations)
        print(padded("late/early", -20) + padded(decimal(ratio.time), 11) + padded(decimal(ratio.allocations), 21))
        if ratio.time > timeLimit { fail("a command takes longer the longer the connection is") }
        if early.allocations > 0, ratio.allocations > allocationLimit || kept.late > kept.early {
            fail("a command takes more memory the longer the connection is")
        }
    }

    private static func show(_ name: String, _ cost: Cost, _ kept: Int) {
        let commands = Double(window)
        let allocations = cost.allocations > 0 ? decimal(cost.allocations / commands) : "-"
        print(
            padded(name, -20) + padded(decimal(cost.seconds * 1_000_000 / commands), 11) + padded(allocations, 21)
                + padded("\(kept)", 12))
    }

    private static func fail(_ why: String) -> Never {
        print("CommandBench: \(why)")
        exit(1)
    }

    private static func decimal(_ number: Double) -> String {
        guard number.isFinite else { return "-" }
        let hundredths = Int(number * 100 + 0.5)
        return "\(hundredths / 100).\(hundredths / 10 % 10)\(hundredths % 10)"
    }

    /// Pads on the left, or on the right for a negative width.
    private static func padded(_ text: String, _ width: Int) -> String {
        let spaces = String(repeating: " ", count: max(abs(width) - text.count, 0))
        return width < 0 ? text + spaces : spaces + text
    }
}

/// Cost of a series of commands.
private struct Cost {
    var seconds: Double
    /// 0 without the allocation counter.
    var allocations: Double

    static let most = Cost(seconds: .infinity, allocations: .infinity)

    static func of(_ body: () -> Void) -> Cost {
        let (time, count) = (processorTime(), allocations())
        body()
        return Cost(seconds: processorTime() - time, allocations: Double(allocations() - count))
    }

    mutating func improve(_ other: Cost) {
        seconds = min(seconds, other.seconds)
        allocations = min(allocations, other.allocations)
    }

    private static func processorTime() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1_000_000_000
    }

    private static func allocations() -> UInt64 { counter?() ?? 0 }

    private static let counter: (@convention(c) () -> UInt64)? = dlsym(nil, "btcall_allocations").map {
        unsafeBitCast($0, to: (@convention(c) () -> UInt64).self)
    }
}

/// A connection in which a headset sends typical commands over and over, ten lines a second.
private struct CommandCourse {
    private var gateway: AudioGateway
    private var now = Instant.zero
    private var deadline: Instant?
    private var position = 0
    private var answers = 0
    private var commands = 0
    private(set) var isIntact = true

    private static let mix: [[UInt8]] = [
        "AT+CLCC", "AT+VGS=9", "AT+CIND?", "AT+VTS=5", "AT+BIEV=2,80", "AT+COPS?", "AT+VGM=7", "AT+CLIP=1",
        "AT+CHLD=2", "AT+BIA=,,,,1,0,1", "AT+XEVENT=BATTERY,5,9,120,0", "AT+CNUM", "AT+CMEE=1", "AT+CHLD=13",
        "AT+IPHONEACCEV=2,1,6,2,0", "AT+NREC=0", "ATD5551234;", "AT+CHLD=?", "AT+BLDN", "AT+UNKNOWN=1,\"two\"",
    ].map { Array("\($0)\r".utf8) }

    private static let tables: [CallSnapshot] = [CallState.active, .held].map { state in
        CallSnapshot([
            Call(
                id: CallID(1), provider: "p", direction: .incoming, state: state,
                details: CallDetails(number: "+15550100", name: "Somebody"), index: 1)
        ])
    }

    init() {
        var configuration = AudioGatewayConfiguration()
        configuration.subscriberNumbers = [SubscriberNumber(number: "5550199")]
        configuration.networkOperator = "Operator"
        configuration.lastDialed = "5550123"
        gateway = AudioGateway(configuration: configuration, calls: Self.tables[0])
        note(gateway.start(at: now))
        let lines = [
            "AT+BRSF=959", "AT+BAC=1,2", "AT+CIND=?", "AT+CIND?", "AT+CMER=3,0,0,1", "AT+CHLD=?", "AT+BIND=1,2",
            "AT+BIND=?", "AT+BIND?",
        ]
        for line in lines { hear(Array("\(line)\r".utf8)) }
        isIntact = gateway.isEstablished
    }

    var keptBytes: Int { gateway.keptBytes }

    mutating func run(_ count: Int) {
        for _ in 0..<count {
            now = now.advanced(by: .milliseconds(100))
            if let due = deadline, due <= now { note(gateway.deadlineReached(at: now)) }
            hear(Self.mix[position % Self.mix.count])
            position += 1
            // Holds and resumes the call: each time with an unsolicited result.
            if position % 32 == 0 { note(gateway.callsChanged(Self.tables[position / 32 % 2], at: now)) }
        }
        if answers != commands || !gateway.isOpen { isIntact = false }
    }

    private mutating func hear(_ line: [UInt8]) {
        commands += 1
        note(gateway.bytesReceived(line, at: now))
    }

    private mutating func note(_ actions: [AudioGateway.Action]) {
        for action in actions {
            switch action {
            case .send(let line):
                // Like the daemon, also produces the text.
                let bytes = line.bytes
                switch line {
                case .ok, .error, .cmeError: answers += bytes.isEmpty ? 0 : 1
                default: break
                }
            case .request(_, let id): note(gateway.requestCompleted(id, .done, at: now))
            case .setDeadline(let next): deadline = next
            case .connectAudio, .disconnectAudio, .acceptAudio, .rejectAudio, .event: break
            case .closeConnection, .fault: isIntact = false
            }
        }
    }
}
