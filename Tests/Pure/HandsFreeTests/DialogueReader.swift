import BluetoothTypes
import HandsFree
import Telephony

/// Reads a file of dialogues (Dialogues/README.md); refuses anything unknown.
struct DialogueReader {
    private let file: String
    private var line = 0
    private var isInHeader = true
    private var common = Dialogue()
    private var current: Dialogue?
    private var dialogues: [Dialogue] = []
    private var names: Set<String> = []

    static func dialogues(_ text: String, file: String) throws(DialogueError) -> [Dialogue] {
        var reader = DialogueReader(file: file)
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) { try reader.read(String(line)) }
        try reader.finish()
        return reader.dialogues
    }

    private init(file: String) {
        self.file = file
    }

    // MARK: - Lines

    private mutating func read(_ written: String) throws(DialogueError) {
        line += 1
        let text = Self.trimmed(written)
        if text.isEmpty {
            if current != nil { isInHeader = false }
            return
        }
        if text.hasPrefix("#") { return }
        if let (key, value) = header(text) {
            if key == "dialogue" {
                try finish()
                guard names.insert(value).inserted else { throw refusal("there is a dialogue “\(value)” already") }
                var next = common
                next.name = value
                next.file = file
                next.line = line
                current = next
                isInHeader = true
            } else if isInHeader {
                var changed = current ?? common
                try set(key, value, in: &changed)
                if current == nil { common = changed } else { current = changed }
            } else {
                throw refusal("“\(key):” is a line of the header, which ended with the blank line")
            }
            return
        }
        guard current != nil else { throw refusal("“\(text)” stands before the first “dialogue:”") }
        guard !isInHeader else { throw refusal("“\(text)” is no line of a header; a blank line ends it") }
        try step(text)
    }

    private mutating func finish() throws(DialogueError) {
        guard let dialogue = current else { return }
        current = nil
        func missing(_ what: String) -> DialogueError {
            DialogueError(file: file, line: dialogue.line, reason: "“\(dialogue.name)” has no \(what)")
        }
        if dialogue.cases.isEmpty { throw missing("case") }
        if dialogue.source.isEmpty { throw missing("source") }
        if !dialogue.steps.contains(where: { $0.input != nil }) { throw missing("steps") }
        dialogues.append(dialogue)
    }

    private func refusal(_ reason: String) -> DialogueError {
        DialogueError(file: file, line: line, reason: reason)
    }

    // MARK: - Header

    /// A key, a colon and a value; nil for a step.
    private func header(_ text: String) -> (key: String, value: String)? {
        guard let colon = text.firstIndex(of: ":") else { return nil }
        let key = text[..<colon]
        guard !key.isEmpty, key.allSatisfy({ $0 == "_" || ($0.isLowercase && $0.isASCII) }) else { return nil }
        return (String(key), Self.trimmed(text[text.index(after: colon)...]))
    }

    private func set(_ key: String, _ value: String, in dialogue: inout Dialogue) throws(DialogueError) {
        if value.isEmpty { throw refusal("“\(key):” has no value") }
        switch key {
        case "case":
            let cases = Self.split(value, at: ",")
            for name in cases where !Self.isCase(name) {
                throw refusal("“\(name)” is neither a case (ICA/BV-04), a rule (rule 4) nor a quirk (A11)")
            }
            dialogue.cases = cases
        case "source": dialogue.source = value
        case "events":
            guard let all = ["all": true, "written": false][value] else {
                throw refusal("events: all or written, not “\(value)”")
            }
            dialogue.comparesAllEvents = all
        case "calls": dialogue.callsAtStart = try calls(value)
        default:
            guard DialogueSetting.keys.contains(key) else { throw refusal("there is no key “\(key)”") }
            dialogue.settings.append(DialogueSetting(key: key, value: value))
        }
    }

    private static let families: Set<String> = [
        "SGSIT", "CGSIT", "COD", "DIS", "SLC", "OOR", "TRS", "PSI", "ACS", "ACR", "ACC", "WBS", "SWB", "CLI", "ICA",
        "ICR",
        "TCA", "ATH", "ATA", "OCN", "OCM", "OCL", "TWC", "CIT", "ENO", "VRA", "VRD", "EVR", "VRR", "VTA", "VRT", "VTG",
        "TDC",
        "RSV", "RMV", "ECS", "ECC", "RHH", "NUM", "IIA", "IID", "IIC", "HFI", "CFD", "CDI", "ATAH", "SDP", "OCA", "TDS",
    ]

    private static func isCase(_ name: String) -> Bool {
        if name == "-" { return true }
        let words = words(name)
        if words.count == 2, words[0] == "rule" { return (Int(words[1]).map { 1...14 ~= $0 }) ?? false }
        if let first = name.first, "ABC".contains(first), let number = Int(name.dropFirst()) { return 1...30 ~= number }
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        guard families.contains(String(parts[0])) else { return false }
        guard parts.count > 1 else { return true }
        return parts.count == 2 && parts[1].count == 5 && (parts[1].hasPrefix("BV-") || parts[1].hasPrefix("BI-"))
            && parts[1].dropFirst(3).allSatisfy(\.isNumber)
    }

    // MARK: - Steps

    private mutating func step(_ text: String) throws(DialogueError) {
        let word = String(text.prefix { $0 != " " })
        let rest = Self.trimmed(text.dropFirst(word.count))
        if let kind = Dialogue.Output.Kind(rawValue: word) {
            if rest.isEmpty { throw refusal("“\(word)” says nothing") }
            if kind == .link, !Self.isLink(rest) {
                throw refusal("link connect CODEC, link accept CODEC, link disconnect or link reject, not “\(text)”")
            }
            if current?.steps.isEmpty ?? false {
                current?.steps.append(Dialogue.Step(line: line, text: "(start)", input: nil))
            }
            let last = (current?.steps.count ?? 0) - 1
            current?.steps[last].outputs.append(Dialogue.Output(kind: kind, text: rest))
            return
        }
        let input = try input(word, rest)
        current?.steps.append(Dialogue.Step(line: line, text: text, input: input))
    }

    private static func isLink(_ text: String) -> Bool {
        let words = words(text)
        switch words.first {
        case "connect", "accept": return words.count == 2 && (words[1] == "…" || codec(words[1]) != nil)
        case "disconnect", "reject": return words.count == 1
        default: return false
        }
    }

    private func input(_ word: String, _ rest: String) throws(DialogueError) -> Dialogue.Input {
        let words = Self.words(rest)
        let first = words.first ?? ""
        let second = words.dropFirst().first ?? ""
        switch (word, words.count) {
        case ("HF", _): return .bytes(Array(rest.utf8) + [0x0D])
        case ("bytes", _): return .bytes(try bytes(rest))
        case ("calls", 1...): return .calls(try calls(rest))
        case ("done", 0): return .completed(.done)
        case ("refused", 1):
            if let code = Int(first) { return .completed(.failed(CMEError(code: code))) }
        case ("set", 2):
            if let indicator = Indicator.allCases.first(where: { $0.name == first }), let value = Int(second) {
                return .indicator(indicator, value)
            }
        case ("volume", 2):
            if first == "speaker", let value = Int(second) { return .speakerVolume(value) }
            if first == "microphone", let value = Int(second) { return .microphoneVolume(value) }
        case ("inband", 1):
            if let isOn = Self.state(first) { return .inbandRing(isOn) }
        case ("vr", 1):
            if let isOn = Self.state(first) { return .voiceRecognition(isOn) }
        case ("virtual", 1):
            if let isOn = Self.state(first) { return .virtualCall(isOn) }
        case ("reconfigure", 1...2):
            let codecs = first.split(separator: ",", omittingEmptySubsequences: false).map {
                VoiceCodec(word: String($0))
            }
            let known = codecs.compactMap(\.self)
            if known.count == codecs.count {
                return .reconfigured(codecs: known, networkOperator: second.isEmpty ? nil : second)
            }
        case ("hf", 2):
            if let indicator = Int(first).flatMap(HFIndicator.init(rawValue:)), let isOn = Self.state(second) {
                return .hfIndicator(indicator, isOn)
            }
        case ("audio", 1...2):
            if let input = Self.audio(first, words.count == 2 ? second : nil) { return input }
        case ("wait", 1):
            if let milliseconds = Int64(first), milliseconds > 0 { return .wait(.milliseconds(milliseconds)) }
        case ("slc", 1...2): return .serviceLevelConnection(features: first, codecs: words.count == 2 ? second : nil)
        case ("reconnect", 0): return .reconnect
        default: break
        }
        throw refusal("not understood: “\(word) \(rest)”")
    }

    private static func audio(_ what: String, _ detail: String?) -> Dialogue.Input? {
        switch (what, detail) {
        case ("wanted", nil): return .audioWanted(nil)
        case ("wanted", let name?): return codec(name).map { .audioWanted($0) }
        case ("unwanted", nil): return .audioUnwanted
        case ("opened", let name?): return codec(name).map { .audioOpened($0) }
        case ("closed", nil): return .audioClosed
        case ("incoming", nil): return .audioIncoming
        case ("failed", let why?):
            let failures: [String: AudioFailure] = [
                "refused": .refused, "unsupported": .unsupportedCodec, "busy": .busy, "cancelled": .cancelled,
                "failed": .failed,
            ]
            return failures[why].map { .audioFailed($0) }
        default: return nil
        }
    }

    private static func state(_ word: String) -> Bool? { ["on": true, "off": false][word] }

    private static func codec(_ name: String) -> VoiceCodec? { VoiceCodec.allCases.first { $0.description == name } }

    /// `"TEXT"` or `"TEXT" N times`.
    private func bytes(_ text: String) throws(DialogueError) -> [UInt8] {
        guard let (string, rest) = quoted(Substring(text)) else {
            throw refusal("bytes: text in quotation marks with escapes, not “\(text)”")
        }
        let words = Self.words(rest)
        if words.isEmpty { return string }
        guard words.count == 2, words[1] == "times", let count = Int(words[0]), 1...100_000 ~= count else {
            throw refusal("bytes \"TEXT\" N times, not “\(text)”")
        }
        return Array(repeatElement(string, count: count).joined())
    }

    private func calls(_ text: String) throws(DialogueError) -> [Call] {
        if text == "-" { return [] }
        var calls: [Call] = []
        for part in Self.split(text, at: ",") {
            guard let call = call(Substring(part)) else {
                throw refusal("a call is INDEX DIRECTION STATE [NUMBER [NAME]], not “\(part)”")
            }
            calls.append(call)
        }
        return calls
    }

    private func call(_ text: Substring) -> Call? {
        var rest = text
        let words = (0..<3).map { _ in next(&rest) }
        let directions: [String: CallDirection] = ["in": .incoming, "out": .outgoing]
        let states: [String: CallState] = [
            "setup": .setup, "dialing": .dialing, "alerting": .alerting, "incoming": .incoming, "waiting": .waiting,
            "active": .active, "held": .held,
        ]
        let parts = words[2].split(separator: "+", omittingEmptySubsequences: false).map(String.init)
        guard let index = UInt32(words[0]), let direction = directions[words[1]], let state = states[parts[0]],
            parts.count == 1 || parts[1...] == ["conference"]
        else { return nil }
        let number = next(&rest)
        let name = rest.hasPrefix("\"") ? next(&rest) : Self.trimmed(rest)
        if rest.first == "\"" { return nil }
        return Call(
            id: CallID(index), provider: "p", direction: direction, state: state,
            details: CallDetails(
                number: number.isEmpty || number == "-" ? nil : number, name: name.isEmpty ? nil : name),
            index: Int(index), isConference: parts.count == 2)
    }

    /// Removes a word or a quoted string from the front, with the blanks after it.
    private func next(_ text: inout Substring) -> String {
        text = text.drop { $0 == " " }
        let word: String
        if text.hasPrefix("\""), let (string, rest) = quoted(text) {
            word = String(decoding: string, as: UTF8.self)
            text = Substring(rest)
        } else {
            word = String(text.prefix { $0 != " " })
            text = text.dropFirst(word.count)
        }
        text = text.drop { $0 == " " }
        return word
    }

    /// A quoted string at the front, and the rest; nil without one.
    private func quoted(_ text: Substring) -> (string: [UInt8], rest: String)? {
        var characters = text.dropFirst()
        guard text.first == "\"" else { return nil }
        var bytes: [UInt8] = []
        let escapes: [Character: UInt8] = ["r": 0x0D, "n": 0x0A, "t": 0x09, "\"": 0x22, "\\": 0x5C]
        while let character = characters.popFirst() {
            if character == "\"" { return (bytes, String(characters)) }
            guard character == "\\" else {
                bytes += character.utf8
                continue
            }
            guard let escape = characters.popFirst() else { return nil }
            if let byte = escapes[escape] {
                bytes.append(byte)
            } else if escape == "x", let byte = UInt8(characters.prefix(2), radix: 16) {
                bytes.append(byte)
                characters = characters.dropFirst(2)
            } else if escape == "u", characters.first == "{", let end = characters.firstIndex(of: "}"),
                let code = UInt32(characters[..<end].dropFirst(), radix: 16), let scalar = Unicode.Scalar(code)
            {
                bytes += String(Character(scalar)).utf8
                characters = characters[characters.index(after: end)...]
            } else {
                return nil
            }
        }
        return nil
    }

    // MARK: - Text

    static func trimmed(_ text: some StringProtocol) -> String {
        String(text.drop { $0 == " " }.reversed().drop { $0 == " " || $0 == "\r" }.reversed())
    }

    static func words(_ text: some StringProtocol) -> [String] { String(text).split(separator: " ").map(String.init) }

    /// Parts without surrounding blanks; separators in quotation marks do not count.
    static func split(_ text: String, at separator: Character) -> [String] {
        var parts = [""]
        var isQuoted = false
        var isEscaped = false
        for character in text {
            if character == separator, !isQuoted {
                parts.append("")
                continue
            }
            if character == "\"", !isEscaped { isQuoted.toggle() }
            isEscaped = isQuoted && character == "\\" && !isEscaped
            parts[parts.count - 1].append(character)
        }
        return parts.map { trimmed($0) }
    }
}
