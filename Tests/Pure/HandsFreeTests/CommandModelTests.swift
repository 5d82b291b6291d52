import BluetoothTypes
import HandsFree
import Telephony
import TestSupport
import Testing

/// Random command lines, alone and in groups, checked against the model.
@Suite struct CommandModelTests {
    @Test(arguments: randomCourses(200))
    func `a command in its turn receives the model's answer and one final result code, any other line none`(_ seed: Int)
    {
        var random = SeededGenerator(seed: UInt64(seed) &+ 7000)
        var course = CommandCourse(random: &random)
        // The others establish the service level connection by chance, or never.
        if seed % 3 > 0 { course.connect() }
        for _ in 0..<60 { course.heap(&random) }
    }
}

/// One headset that sends commands, and an environment that completes requests.
private struct CommandCourse {
    private var model: CommandModel
    private var gateway: AudioGateway
    private var now = Instant.zero
    /// The gateway's lines per request that are not accounted for yet.
    private var said: [String] = []
    private var pending: GatewayRequestID?

    init(random: inout SeededGenerator) {
        model = CommandModel(random: &random)
        gateway = AudioGateway(configuration: model.configuration, calls: CallSnapshot(model.calls.calls))
        note(gateway.start(at: now))
    }

    /// Initial commands of the headset.
    mutating func connect() {
        let commands = model.connect()
        for command in commands {
            note(gateway.bytesReceived(Array(command.line.utf8) + [0x0D], at: now))
            check(command.answer, command.line, true, model.hasExtendedErrors)
        }
        #expect(said.isEmpty, "\(said) after \(commands.map(\.line))")
        #expect(gateway.isEstablished)
    }

    /// A few commands in one piece or in many; their requests are completed in order.
    mutating func heap(_ random: inout SeededGenerator) {
        var bytes: [UInt8] = []
        var expected: [CommandModel.Answer] = []
        var errors: [Bool] = []
        var lines: [String] = []
        var outcomes: [Bool] = []
        for _ in 0..<1 + random.below(5) {
            // A command's meaning depends on earlier ones and on whether they were carried out.
            let isDone = random.below(3) > 0
            let command = model.command(&random)
            if let request = command.answer.request, isDone { model.completed(request) }
            lines.append(command.line)
            outcomes.append(isDone)
            expected.append(command.answer)
            errors.append(model.hasExtendedErrors)
            bytes += Array(command.line.utf8) + [0x0D]
        }
        var rest = bytes[...]
        while !rest.isEmpty {
            let part = rest.prefix(1 + random.below(random.below(3) == 0 ? 3 : 4000))
            rest = rest.dropFirst(part.count)
            note(gateway.bytesReceived(part, at: now))
        }
        for (position, answer) in expected.enumerated() {
            check(answer, lines[position], outcomes[position], errors[position])
        }
        #expect(said.isEmpty, "\(said) after \(lines)")
        said = []
        #expect(gateway.keptBytes == 0)
    }

    private mutating func check(_ answer: CommandModel.Answer, _ line: String, _ isDone: Bool, _ isExtended: Bool) {
        guard !answer.isSilent else { return }
        for expected in answer.lines { #expect(take() == expected, "\(line)") }
        var isOK = answer.isOK
        if let request = answer.request {
            #expect(take() == "ask \(request)", "\(line)")
            guard let id = pending else { return }
            pending = nil
            isOK = isDone
            note(gateway.requestCompleted(id, isDone ? .done : .failed(CMEError(code: 31)), at: now))
        }
        let result = take() ?? "nothing"
        if isOK {
            #expect(result == "OK", "\(line)")
        } else if isExtended {
            #expect(result.hasPrefix("+CME ERROR: "), "\(line): \(result)")
            if answer.request != nil { #expect(result == "+CME ERROR: 31") }
        } else {
            #expect(result == "ERROR", "\(line): \(result)")
        }
    }

    private mutating func take() -> String? { said.isEmpty ? nil : said.removeFirst() }

    private mutating func note(_ actions: [AudioGateway.Action]) {
        for action in actions {
            switch action {
            // Unsolicited lines have their own tests; here they come from AT+CMER and AT+BRSF establishing the connection.
            case .send(.ring), .send(.callerIdentification), .send(.indicator), .send(.inbandRing): break
            case .send(let code): said.append(code.text)
            case .request(let request, let id):
                pending = id
                said.append("ask \(request.words)")
            case .setDeadline, .event: break
            case .connectAudio, .disconnectAudio, .acceptAudio, .rejectAudio, .closeConnection, .fault:
                Issue.record("not expected: \(action)")
            }
        }
    }
}
