import BluetoothTypes
import HandsFree
import Telephony

/// Bytes from a headset: the reader with any split, the parser and its parameters, and the gateway's answer.
enum ATTarget {
    static func run(_ input: [UInt8]) throws(BrokenRule) {
        let inputs = try read(input)
        for case .line(let line) in inputs { try check(line) }
        try answer(input)
    }

    // MARK: The reader

    private static func read(_ bytes: [UInt8]) throws(BrokenRule) -> [ATReader.Input] {
        var whole = ATReader()
        let inputs = whole.read(bytes)
        try require(inputs == lines(bytes), "the reader cuts at CR and drops noise")
        var single = ATReader()
        var parts: [ATReader.Input] = []
        for byte in bytes {
            parts += single.read(CollectionOfOne(byte))
            try require(single.keptBytes <= ATReader.limit, "the reader keeps \(single.keptBytes) bytes")
        }
        try require(parts == inputs, "byte by byte gives the same lines")
        try require(single.keptBytes == whole.keptBytes, "byte by byte keeps the same")
        var cut = ATReader()
        // The input decides the position.
        let position = bytes.reduce(0) { ($0 &* 31 &+ Int($1)) & 0xFFFF } % (bytes.count + 1)
        try require(
            cut.read(bytes[..<position]) + cut.read(bytes[position...]) == inputs, "cut at \(position) it is the same")
        return inputs
    }

    /// The expected result, computed line by line.
    private static func lines(_ bytes: [UInt8]) -> [ATReader.Input] {
        var result: [ATReader.Input] = []
        let raw = bytes.split(separator: 0x0D, omittingEmptySubsequences: false)
        for (number, line) in raw.enumerated() {
            var isQuoted = false
            let kept = line.filter { byte in
                if byte == 0x0A { return false }
                if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
                return isQuoted || (byte != 0x20 && byte != 0x09)
            }
            if kept.count > ATReader.limit {
                result.append(.problem(.lineTooLong))
            } else if number < raw.count - 1 {
                result.append(.line(Array(kept)))
            }
        }
        return result
    }

    // MARK: The parser

    private static func check(_ line: [UInt8]) throws(BrokenRule) {
        let command: ATCommand
        do throws(ATSyntaxError) {
            command = try ATCommand(line: line)
        } catch {
            try require(error == .notACommand, "a line that is none is .notACommand, not \(error)")
            return
        }
        try checkSpelling(command, line)
        let swapped = line.map { byte in
            let letter = byte & 0xDF
            return (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(letter) ? byte ^ 0x20 : byte
        }
        let other = try? ATCommand(line: swapped)
        try require(other?.name == command.name && other?.form == command.form, "the case of letters means nothing")
        try checkFields(command.parameters)
    }

    /// The parts put together give the line.
    private static func checkSpelling(_ command: ATCommand, _ line: [UInt8]) throws(BrokenRule) {
        let rest = command.parameters.rest
        let name = Array(command.name.utf8)
        try require(
            name.allSatisfy {
                (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) || $0 == UInt8(ascii: "+")
                    || $0 == UInt8(ascii: "%")
            }, "a name is of letters and digits: \(command.name.debugDescription)")
        let isExtended = name.first == UInt8(ascii: "+") || name.first == UInt8(ascii: "%")
        try require(isExtended ? name.count > 1 : name.count <= 1, "a basic command has one letter: \(command.name)")
        guard !line.isEmpty else {
            try require(name.isEmpty && command.form == .action && rest.isEmpty, "an empty line is no command")
            return
        }
        let form: [UInt8] =
            switch command.form {
            case .action: []
            case .read: [UInt8(ascii: "?")]
            case .test: Array("=?".utf8)
            case .set: [UInt8(ascii: "=")]
            }
        let tail = form + rest
        try require(
            line.count == 2 + name.count + tail.count && line.suffix(tail.count) == tail[...]
                && zip(line.dropFirst(2), name).allSatisfy { $0 == $1 || $0 == $1 | 0x20 },
            "\(command) is not \(String(decoding: line, as: UTF8.self))")
    }

    // MARK: Parameters

    private static func checkFields(_ parameters: ATParameters) throws(BrokenRule) {
        let rest = parameters.rest
        let fields = split(rest)
        var texts = parameters
        var numbers = parameters
        var masks = parameters
        for field in fields {
            let digits = !field.isEmpty && field.allSatisfy { (0x30...0x39).contains($0) }
            try require(!texts.isAtEnd, "there are \(fields.count) fields")
            try require((texts.text() == nil) == field.isEmpty, "only an empty field has no text")
            let value = Int(String(decoding: field, as: UTF8.self))
            try checkNumber(&numbers, field, digits && field.count <= 9 ? value : nil)
            var mask: UInt32?
            do throws(ATSyntaxError) { mask = try masks.mask() } catch { mask = nil }
            let isMask = digits && field.count <= 10 && (value ?? Int.max) <= Int(UInt32.max)
            try require(mask == (isMask ? value.flatMap { UInt32(exactly: $0) } : nil), "mask \(field): \(mask ?? 0)")
        }
        try require(texts.isAtEnd && numbers.isAtEnd && masks.isAtEnd, "there are \(fields.count) fields")
        try require(texts.text() == nil && texts.isAtEnd, "after the last field there is none")
        try checkList(parameters, fields.count)
    }

    /// - Parameter value: the expected value; nil: not a number.
    private static func checkNumber(
        _ numbers: inout ATParameters, _ field: ArraySlice<UInt8>, _ value: Int?
    ) throws(BrokenRule) {
        do throws(ATSyntaxError) {
            let number = try numbers.optionalNumber()
            guard number == value else { throw .excess }
        } catch {
            try require(error == .malformed && value == nil && !field.isEmpty, "\(error) for the number \(field)")
        }
    }

    private static func checkList(_ parameters: ATParameters, _ count: Int) throws(BrokenRule) {
        var list = parameters
        do throws(ATSyntaxError) {
            let numbers = try list.numbers(limit: 32)
            try list.end()
            guard numbers.count == count, count <= 32 else { throw .notACommand }
        } catch {
            try require(error != .notACommand, "a list of \(count) numbers is read, or none")
        }
    }

    /// Splits at the commas outside quotes.
    private static func split(_ bytes: [UInt8]) -> [ArraySlice<UInt8>] {
        guard !bytes.isEmpty else { return [] }
        var fields: [ArraySlice<UInt8>] = []
        var start = 0
        var quotes = 0
        for (index, byte) in bytes.enumerated() {
            if byte == UInt8(ascii: "\"") { quotes += 1 }
            if byte == UInt8(ascii: ","), quotes.isMultiple(of: 2) {
                fields.append(bytes[start..<index])
                start = index + 1
            }
        }
        return fields + [bytes[start...]]
    }

    // MARK: The answer

    private static let configuration: AudioGatewayConfiguration = {
        var configuration = AudioGatewayConfiguration()
        configuration.features = AudioGatewayFeatures(rawValue: 0x7FFF)
        configuration.codecs = VoiceCodec.allCases
        configuration.threeWay = ThreeWayOption.allCases
        configuration.responseAndHold = true
        configuration.memory = [1: "5551"]
        configuration.lastDialed = "5552"
        configuration.voiceTagNumber = "5553"
        configuration.networkOperator = "Net"
        configuration.subscriberNumbers = [SubscriberNumber(number: "+49301")]
        configuration.quota.burst = 10_000
        return configuration
    }()

    private static let calls = CallSnapshot([
        Call(id: CallID(1), provider: "p", direction: .outgoing, state: .active, index: 1),
        Call(id: CallID(2), provider: "p", direction: .incoming, state: .held, index: 2),
    ])

    /// Every command gets one final result code, any other line nothing; everything before the code is well formed.
    private static func answer(_ bytes: [UInt8]) throws(BrokenRule) {
        let lines = bytes.split(separator: 0x0D, omittingEmptySubsequences: false).dropLast()
        guard !lines.isEmpty else { return }
        var gateway = AudioGateway(configuration: configuration, calls: calls)
        _ = gateway.start(at: .zero)
        _ = gateway.bytesReceived(Array("AT+BRSF=0\rAT+CIND?\rAT+CMER=3,0,0,1\r".utf8), at: .zero)
        try require(gateway.isEstablished, "the headset is connected")
        var reader = ATReader()
        var commands = CommandLines(isHeadsetProfile: false)
        var expected = 0
        var answers = 0
        for line in lines {
            for input in reader.read(line + [0x0D]) where commands.isAnswered(input) { expected += 1 }
            var actions = gateway.bytesReceived(line + [0x0D], at: .zero)
            var position = 0
            while position < actions.count {
                switch actions[position] {
                case .send(let code):
                    try LineRules.check(code)
                    switch code {
                    case .ok, .error, .cmeError: answers += 1
                    default: break
                    }
                case .request(_, let id): actions += gateway.requestCompleted(id, .done, at: .zero)
                case .fault(let reason): throw BrokenRule("fault: \(reason)")
                case .closeConnection(let reason): throw BrokenRule("closed: \(reason)")
                case .connectAudio, .disconnectAudio, .acceptAudio, .rejectAudio, .setDeadline, .event: break
                }
                position += 1
            }
        }
        try require(answers == expected, "\(expected) commands had \(answers) answers")
        try require(gateway.keptBytes == 0, "\(gateway.keptBytes) bytes are kept")
    }
}
