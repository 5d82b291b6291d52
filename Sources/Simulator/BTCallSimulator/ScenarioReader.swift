import BluetoothTypes
import Foundation
import JSONText
import Routing

/// Converts a JSON value into scenarios; refuses anything unknown.
struct ScenarioReader {
    private var scenario: String?
    private var step: Int?

    func read(_ value: JSON) throws(ScenarioError) -> [Scenario] {
        let file = try object(value, "the file", ["format", "defaults", "scenarios", "description"])
        guard file["format"] == .string("btcall-scenario/1") else {
            throw error("format is not known; accepted: btcall-scenario/1")
        }
        var defaults = RoutingConfiguration()
        if let changes = file["defaults"] { try configure(&defaults, changes) }
        guard case .array(let elements) = file["scenarios"] else { throw error("'scenarios' is not a list") }
        var scenarios: [Scenario] = []
        for (index, element) in elements.enumerated() {
            var inner = self
            inner.scenario = "scenario \(index + 1) of the file"
            if case .object(let members) = element, case .string(let id) = members["id"] { inner.scenario = id }
            scenarios.append(try inner.readScenario(element, defaults))
        }
        return scenarios
    }

    private func readScenario(
        _ value: JSON, _ defaults: RoutingConfiguration
    ) throws(ScenarioError) -> Scenario {
        let members = try object(
            value, "the scenario",
            ["id", "title", "tags", "source", "mayBeSilent", "exactTiming", "given", "steps"] + Self.recordingKeys)
        guard let id = members["id"] else { throw error("key 'id' is missing") }
        let isRecorded = try flag(members["recorded"], "recorded", default: false)
        if !isRecorded, let name = Self.recordingKeys.first(where: { members[$0] != nil && $0 != "recorded" }) {
            throw error("'\(name)' is only for recordings, which say \"recorded\": true")
        }
        let given = try readGiven(members["given"] ?? [:], defaults, isRecorded: isRecorded)
        guard case .array(let elements) = members["steps"] else { throw error("'steps' is not a list") }
        var steps: [Scenario.Step] = []
        for (index, element) in elements.enumerated() {
            var inner = self
            inner.step = index + 1
            let step = try inner.readStep(element, given, isRecorded: isRecorded)
            if let previous = steps.last, step.time < previous.time {
                throw inner.error("'t' goes back: steps are in order")
            }
            steps.append(step)
        }
        return Scenario(
            id: try text(id, "id"), title: try text(members["title"] ?? .string(""), "title"),
            tags: try texts(members["tags"] ?? .array([]), "tags"),
            source: try members["source"].map { (value) throws(ScenarioError) in try text(value, "source") },
            mayBeSilent: try flag(members["mayBeSilent"], "mayBeSilent", default: false),
            exactTiming: try flag(members["exactTiming"], "exactTiming", default: false),
            isRecorded: isRecorded,
            startedAt: try members["startedAt"].map { (value) throws(ScenarioError) in try date(value) },
            given: given, steps: steps)
    }

    /// Keys that the daemon adds to its recordings.
    private static let recordingKeys = ["recorded", "startedAt", "version"]

    private func date(_ value: JSON) throws(ScenarioError) -> Date {
        guard case .string(let text) = value,
            let date = try? Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        else { throw error("'startedAt' is not a time like 2025-03-01T17:04:05.678Z") }
        return date
    }

    // MARK: Given

    private func readGiven(
        _ value: JSON, _ defaults: RoutingConfiguration, isRecorded: Bool
    ) throws(ScenarioError) -> Scenario.Given {
        let members = try object(
            value, "given",
            ["hw", "jack", "headsets", "connected", "preferred", "default", "started", "config"]
                + (isRecorded ? ["state"] : []))
        var given = Scenario.Given()
        given.configuration = defaults
        if let changes = members["config"] { try configure(&given.configuration, changes) }
        if let state = members["state"] {
            if let other = members.names.filter({ $0 != "state" && $0 != "config" }).min() {
                throw error("'\(other)' beside 'state', which says it already")
            }
            given.state = try policy(state, given.configuration)
        }
        if let hardware = members["hw"] {
            for part in try object(hardware, "hw", ["speakerphone", "earpiece"]) {
                let isThere = try flag(part.value, part.name, default: true)
                if !isThere, let local = LocalDevice(rawValue: part.name) { given.locals.remove(local) }
            }
        }
        if let jack = members["jack"], jack != .null {
            guard let state = JackState(rawValue: try text(jack, "jack")) else {
                throw error("jack is not known; accepted: empty | headset | headphones")
            }
            given.jack = state
        }
        if let headsets = members["headsets"] {
            for model in try object(headsets, "headsets", nil) {
                given.headsets.append(try readHeadset(model.name, model.value))
            }
            given.headsets.sort { $0.address < $1.address }
        }
        for name in try texts(members["connected"] ?? .array([]), "connected") {
            let address = try address(name)
            guard given.headsets.contains(where: { $0.address == address }) else {
                throw error("connected: '\(name)' is not in 'headsets'")
            }
            given.connected.append(address)
        }
        if let preferred = members["preferred"] { given.preferred = try device(preferred, "preferred") }
        if let fallback = members["default"] { given.defaultDevice = try device(fallback, "default") }
        given.started = try flag(members["started"], "started", default: true)
        return given
    }

    /// The initial policy of a recording.
    private func policy(
        _ value: JSON, _ configuration: RoutingConfiguration
    ) throws(ScenarioError) -> RoutingPolicy {
        do {
            return try RoutingPolicy(recordedState: value, from: .zero, configuration: configuration)
        } catch let problem {
            throw error("state: \(problem)")
        }
    }

    private func readHeadset(_ name: String, _ value: JSON) throws(ScenarioError) -> Scenario.HeadsetModel {
        let members = try object(
            value, "headset \(name)", ["profiles", "category", "inband", "openMs", "closeMs", "script"])
        var model = Scenario.HeadsetModel(address: try address(name))
        if let profiles = members["profiles"] {
            model.profiles = []
            for word in try texts(profiles, "profiles") {
                guard let profile = LinkMode(rawValue: word) else {
                    throw error("profiles: '\(word)' is not known; accepted: hfp | a2dp")
                }
                model.profiles.append(profile)
            }
        }
        if let category = members["category"] {
            guard let known = ClassOfDevice.Category(rawValue: try text(category, "category")) else {
                throw error("category is not known; accepted: headset | speaker | watch")
            }
            model.category = known
        }
        model.inband = try flag(members["inband"], "inband", default: true)
        if let time = members["openMs"] { model.openTime = .milliseconds(try whole(time, "openMs")) }
        if let time = members["closeMs"] { model.closeTime = .milliseconds(try whole(time, "closeMs")) }
        for word in try texts(members["script"] ?? .array([]), "script") {
            model.script.append(try outcome(word))
        }
        return model
    }

    private func outcome(_ word: String) throws(ScenarioError) -> Scenario.LinkOutcome {
        switch word {
        case "ok": return .opens
        case "fail": return .refuses
        case "hang": return .hangs
        default:
            guard word.hasPrefix("ok+"), let time = UInt32(word.dropFirst(3)) else {
                throw error("script: '\(word)' is not known; accepted: ok | fail | hang | ok+N")
            }
            return .opensFor(.milliseconds(Int64(time)))
        }
    }

    private func configure(
        _ configuration: inout RoutingConfiguration, _ value: JSON
    ) throws(ScenarioError) {
        for argument in try arguments(try object(value, "config", nil)) {
            do {
                try configuration.set(key: argument.name, value: argument.value.configurationText)
            } catch let problem {
                throw error("config: \(problem)")
            }
        }
    }

    // MARK: Steps

    private func readStep(
        _ value: JSON, _ given: Scenario.Given, isRecorded: Bool
    ) throws(ScenarioError) -> Scenario.Step {
        var members = try object(value, "the step", nil)
        guard let time = members.remove("t") else { throw error("key 't' is missing") }
        let instant = Instant(milliseconds: try whole(time, "t"))
        if let expected = members.remove("expect") {
            if let name = members.names.min() { throw error("unknown key '\(name)' beside 'expect'") }
            return Scenario.Step(time: instant, action: .expect(try expectations(expected)))
        }
        guard let word = members.remove("do") else {
            throw error("a step needs 'do' or 'expect'")
        }
        let record = EventRecord(word: try text(word, "do"), arguments: try arguments(members))
        if record.word == "mark" {
            if let name = members.names.min() { throw error("mark: unknown key '\(name)'; accepted: none") }
            return Scenario.Step(time: instant, action: .mark)
        }
        return Scenario.Step(time: instant, action: .event(try checked(record, given, isRecorded: isRecorded)))
    }

    /// Refuses an invalid record, and adds the profiles of a connected headset.
    private func checked(
        _ record: EventRecord, _ given: Scenario.Given, isRecorded: Bool
    ) throws(ScenarioError) -> EventRecord {
        do {
            let event = try RoutingEvent(
                record, changing: given.configuration, in: isRecorded ? .recordings : .scenarios)
            guard case .headsetConnected(let address, _) = event,
                record.arguments.allSatisfy({ $0.name != "profiles" }),
                let model = given.headsets.first(where: { $0.address == address })
            else { return record }
            return RoutingEvent.headsetConnected(address, profiles: model.profiles).record
        } catch let problem {
            throw error(problem.description)
        }
    }

    /// The arguments of an event, ordered by name, with placeholders resolved.
    private func arguments(_ members: [JSON.Member]) throws(ScenarioError) -> [EventRecord.Argument] {
        var arguments: [EventRecord.Argument] = []
        for member in members.sorted(by: { $0.name < $1.name }) {
            let (name, value) = (member.name, member.value)
            let isAddress = ["addr", "device", "via", "exclude", "headsetOrder", "systemDevice"].contains(name)
            let resolve = { (text: String) in isAddress ? ScenarioAddress.resolved(text) : text }
            let argument: EventRecord.Value
            switch value {
            case .string(let text): argument = .text(resolve(text))
            case .bool(let flag): argument = .flag(flag)
            case .integer, .number: argument = .text(String(try whole(value, name)))
            case .array: argument = .list(try texts(value, name).map(resolve))
            case .null: continue
            case .object: throw error("'\(name)' is an object")
            }
            arguments.append(EventRecord.Argument(name: name, value: argument))
        }
        return arguments
    }

    private func expectations(_ value: JSON) throws(ScenarioError) -> [Scenario.Expectation] {
        let members = try object(value, "expect", ScenarioObservable.names)
        var expectations: [Scenario.Expectation] = []
        for member in members.sorted(by: { $0.name < $1.name }) {
            guard let observable = ScenarioObservable(rawValue: member.name) else { continue }
            do {
                let value = try observable.normalized(member.value)
                expectations.append(Scenario.Expectation(observable: observable, value: value))
            } catch let problem {
                throw error(problem.text)
            }
        }
        return expectations
    }

    // MARK: Values

    private func error(_ text: String) -> ScenarioError {
        ScenarioError(scenario: scenario, step: step, text: text)
    }

    private func object(
        _ value: JSON, _ what: String, _ accepted: [String]?
    ) throws(ScenarioError) -> [JSON.Member] {
        guard case .object(let members) = value else { throw error("\(what) is not an object") }
        if let accepted, let unknown = members.names.filter({ !accepted.contains($0) }).min() {
            throw error("unknown key '\(unknown)' in \(what); accepted: \(accepted.joined(separator: ", "))")
        }
        return members
    }

    private func text(_ value: JSON, _ name: String) throws(ScenarioError) -> String {
        guard case .string(let text) = value else { throw error("'\(name)' is not a text") }
        return text
    }

    private func texts(_ value: JSON, _ name: String) throws(ScenarioError) -> [String] {
        guard case .array(let elements) = value else { throw error("'\(name)' is not a list") }
        var texts: [String] = []
        for element in elements { texts.append(try text(element, name)) }
        return texts
    }

    private func flag(
        _ value: JSON?, _ name: String, default fallback: Bool
    ) throws(ScenarioError) -> Bool {
        guard let value else { return fallback }
        guard case .bool(let flag) = value else { throw error("'\(name)' is not true or false") }
        return flag
    }

    private func whole(_ value: JSON, _ name: String) throws(ScenarioError) -> Int64 {
        guard let whole = value.integerValue, 0...1_000_000_000_000 ~= whole
        else {
            throw error("'\(name)' is not a whole number of 0 or more")
        }
        return whole
    }

    private func address(_ name: String) throws(ScenarioError) -> BluetoothAddress {
        guard let address = ScenarioAddress.parse(name) else {
            throw error("'\(name)' is no headset; accepted: H1, H2, … or AA:BB:CC:DD:EE:FF")
        }
        return address
    }

    private func device(_ value: JSON, _ name: String) throws(ScenarioError) -> AudioDevice {
        guard let device = AudioDevice(parsing: ScenarioAddress.resolved(try text(value, name))) else {
            throw error("\(name): \(value.shown) is no device; accepted: \(AudioDevice.acceptedWords)")
        }
        return device
    }
}
