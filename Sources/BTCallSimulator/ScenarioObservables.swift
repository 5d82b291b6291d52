import BluetoothTypes
import Routing

/// The observables of scenarios: their names, what may be expected of them, and how that is compared
/// (routing policy §15).
enum ScenarioObservables {
    static let names = [
        "route", "pending", "mode", "out", "in", "available", "selected", "override", "preferred", "default", "started",
        "muted", "error", "reason", "opens", "opensMax", "switches", "switchesMax", "silenceMaxMs", "ring", "restored",
        "everRoute", "neverRoute", "routeIn",
    ]

    /// What is wrong with an expectation.
    struct Problem: Error {
        let text: String
    }

    /// Checks an expected value and writes devices in one way.
    static func normalized(_ value: ScenarioValue, name: String) throws(Problem) -> ScenarioValue {
        switch name {
        case "route", "pending", "selected", "preferred", "default": return try device(value, name)
        case "override": return try optionalWord(value, name) { $0 == "local" ? $0 : deviceName($0) }
        case "available", "everRoute", "neverRoute", "routeIn":
            guard case .list(let elements) = value else {
                return name == "available" ? try device(.null, name) : .list([try device(value, name)])
            }
            var devices: [ScenarioValue] = []
            for element in elements { devices.append(try device(element, name)) }
            return .list(devices)
        case "mode": return try optionalWord(value, name) { LinkMode(rawValue: $0)?.rawValue }
        case "out", "in":
            let words = ["none", "speaker", "earpiece", "jack", "builtinMic", "jackMic"]
            return try optionalWord(value, name) { text in
                words.contains(text) || text.hasPrefix("sco:") || text.hasPrefix("a2dp:")
                    ? abbreviated(ScenarioAddress.resolved(text)) : nil
            }
        case "error": return try optionalWord(value, name) { RoutingError(rawValue: $0)?.rawValue }
        case "reason": return try optionalWord(value, name) { RouteChangeReason(rawValue: $0)?.rawValue }
        case "started", "muted":
            guard case .flag = value else { throw Problem(text: "\(name): not true or false") }
            return value
        case "opens", "opensMax":
            guard case .object(let members) = value else { throw Problem(text: "\(name): not an object") }
            var counts: [String: ScenarioValue] = [:]
            for (key, count) in members {
                guard let address = ScenarioAddress.parse(key), case .number = count else {
                    throw Problem(text: "\(name): '\(key)' is not a headset with a number")
                }
                counts[ScenarioAddress.name(address)] = count
            }
            return .object(counts)
        case "ring":
            guard case .object(let members) = value else { throw Problem(text: "ring: not an object") }
            if let unknown = members.keys.filter({ $0 != "local" && $0 != "headset" }).min() {
                throw Problem(text: "ring: unknown key '\(unknown)'; accepted: local, headset")
            }
            if let headset = members["headset"] {
                _ = try optionalWord(headset, "ring") { Ringing.HeadsetRing(rawValue: $0)?.rawValue }
            }
            return value
        case "restored":
            guard case .list(let elements) = value else { throw Problem(text: "restored: not a list") }
            var addresses: [ScenarioValue] = []
            for case .text(let text) in elements {
                guard let address = ScenarioAddress.parse(text) else {
                    throw Problem(text: "restored: '\(text)' is no headset")
                }
                addresses.append(.text(ScenarioAddress.name(address)))
            }
            return .list(addresses)
        default:
            guard case .number = value else { throw Problem(text: "\(name): not a number") }
            return value
        }
    }

    private static func device(_ value: ScenarioValue, _ name: String) throws(Problem) -> ScenarioValue {
        guard case .text(let text) = value, let device = deviceName(text) else {
            throw Problem(text: "\(name): \(value) is no device; accepted: \(AudioDevice.acceptedWords)")
        }
        return .text(device)
    }

    private static func deviceName(_ text: String) -> String? {
        AudioDevice(parsing: ScenarioAddress.resolved(text)).map { abbreviated($0.description) }
    }

    static func abbreviated(_ text: String) -> String {
        guard let colon = text.firstIndex(of: ":"), let address = BluetoothAddress(text[text.index(after: colon)...])
        else { return text }
        return text[...colon] + ScenarioAddress.name(address)
    }

    private static func optionalWord(
        _ value: ScenarioValue, _ name: String, _ read: (String) -> String?
    ) throws(Problem) -> ScenarioValue {
        if value == .null { return .null }
        guard case .text(let text) = value, let word = read(text) else {
            throw Problem(text: "\(name): \(value) is not a word that it can have")
        }
        return .text(word)
    }

    /// Whether an expectation holds; nil when it does, else a text that says what was expected and what is.
    static func mismatch(_ expectation: Scenario.Expectation, in observed: [String: ScenarioValue]) -> String? {
        let name = expectation.name
        let expected = expectation.value
        let source = ["routeIn": "route", "neverRoute": "everRoute", "opensMax": "opens", "switchesMax": "switches"]
        let actual = observed[source[name] ?? name] ?? .null
        let holds =
            switch (name, expected, actual) {
            case ("everRoute", .list(let wanted), .list(let been)): wanted.allSatisfy { matches($0, anyOf: been) }
            case ("neverRoute", .list(let banned), .list(let been)): !banned.contains { matches($0, anyOf: been) }
            case ("routeIn", .list(let allowed), _): allowed.contains(actual)
            case ("available", .list(let wanted), .list(let there)): Set(wanted) == Set(there)
            case ("opensMax", .object(let limits), .object(let counts)):
                limits.allSatisfy { isAtMost(counts[$0.key] ?? .number(0), $0.value) }
            case ("opens", .object(let wanted), .object(let counts)):
                wanted.allSatisfy { (counts[$0.key] ?? .number(0)) == $0.value }
            case ("ring", .object(let wanted), .object(let ring)): wanted.allSatisfy { ring[$0.key] == $0.value }
            case ("switchesMax", _, _), ("silenceMaxMs", _, _): isAtMost(actual, expected)
            default: actual == expected
            }
        return holds ? nil : "\(name) expected \(expected), got \(actual)"
    }

    /// `bluetooth` stands for any headset.
    private static func matches(_ device: ScenarioValue, anyOf devices: [ScenarioValue]) -> Bool {
        guard device == .text("bluetooth") else { return devices.contains(device) }
        return devices.contains { other in
            if case .text(let text) = other { text.hasPrefix("bluetooth") } else { false }
        }
    }

    private static func isAtMost(_ value: ScenarioValue, _ limit: ScenarioValue) -> Bool {
        guard case .number(let number) = value, case .number(let bound) = limit else { return false }
        return number <= bound
    }
}
