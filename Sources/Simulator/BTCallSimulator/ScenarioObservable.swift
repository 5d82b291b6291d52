import BluetoothTypes
import JSONText
import Routing

/// The observables of a scenario: their names, their values, and how those are compared (docs/inside/Routing.md §15).
enum ScenarioObservable: String, CaseIterable, Sendable {
    case route, pending, mode, out, `in`, available, selected, override, preferred, `default`, started, muted, error
    case reason, opens, opensMax, switches, switchesMax, silenceMaxMs, ring, restored, everRoute, neverRoute, routeIn

    static let names = allCases.map(\.rawValue)

    /// Observables that a run prints; the others are alternative forms of them.
    static let shown = allCases.filter { $0.source == $0 }

    /// An error in an expectation.
    struct Problem: Error {
        let text: String
    }

    /// The observable whose value is compared.
    var source: ScenarioObservable {
        switch self {
        case .opensMax: .opens
        case .switchesMax: .switches
        case .neverRoute: .everRoute
        case .routeIn: .route
        case .route, .pending, .mode, .out, .in, .available, .selected, .override, .preferred, .default, .started,
            .muted, .error, .reason, .opens, .switches, .silenceMaxMs, .ring, .restored, .everRoute:
            self
        }
    }

    // MARK: Reading

    /// Checks an expected value and normalises device names.
    func normalized(_ value: JSON) throws(Problem) -> JSON {
        switch self {
        case .route, .pending, .selected, .preferred, .default: try device(value)
        case .override:
            try word(value, "local | \(AudioDevice.acceptedWords) | null") { $0 == "local" ? $0 : Self.deviceName($0) }
        case .available, .everRoute, .neverRoute, .routeIn: try devices(value)
        case .mode: try word(value, "hfp | a2dp | null") { LinkMode(rawValue: $0)?.rawValue }
        case .out: try endpoint(value, ["none", "speaker", "earpiece", "jack"], ["sco", "a2dp"])
        case .in: try endpoint(value, ["none", "builtinMic", "jackMic"], ["sco"])
        case .error:
            try word(value, "notStarted | unavailable | activationFailed | null") {
                RoutingError(rawValue: $0)?.rawValue
            }
        case .reason:
            try word(value, RouteChangeReason.allCases.map(\.rawValue).joined(separator: " | ") + " | null") {
                RouteChangeReason(rawValue: $0)?.rawValue
            }
        case .started, .muted: try flag(value)
        case .opens, .opensMax: try counts(value)
        case .ring: try ring(value)
        case .restored: try addresses(value)
        case .switches, .switchesMax, .silenceMaxMs: try number(value)
        }
    }

    private func refused(_ value: JSON, _ accepted: String) -> Problem {
        Problem(text: "\(rawValue): \(value.shown) is not accepted; accepted: \(accepted)")
    }

    private func device(_ value: JSON) throws(Problem) -> JSON {
        guard case .string(let text) = value, let device = Self.deviceName(text) else {
            throw Problem(text: "\(rawValue): \(value.shown) is no device; accepted: \(AudioDevice.acceptedWords)")
        }
        return .string(device)
    }

    /// Reads a list of devices; one device is a list of one, except where a set is meant.
    private func devices(_ value: JSON) throws(Problem) -> JSON {
        guard case .array(let elements) = value else {
            if self == .available { throw refused(value, "a list of devices") }
            return .array([try device(value)])
        }
        var devices: [JSON] = []
        for element in elements { devices.append(try device(element)) }
        return .array(devices)
    }

    private static func deviceName(_ text: String) -> String? {
        AudioDevice(parsing: ScenarioAddress.resolved(text)).map { abbreviated($0.description) }
    }

    /// Abbreviates `bluetooth:02:00:00:00:00:01` to `bluetooth:H1`; also `sco:` and `a2dp:`.
    static func abbreviated(_ text: String) -> String {
        guard let colon = text.firstIndex(of: ":"), let address = BluetoothAddress(text[text.index(after: colon)...])
        else { return text }
        return text[...colon] + ScenarioAddress.name(address)
    }

    private func word(
        _ value: JSON, _ accepted: String, _ read: (String) -> String?
    ) throws(Problem) -> JSON {
        if value == .null { return .null }
        guard case .string(let text) = value, let word = read(text) else { throw refused(value, accepted) }
        return .string(word)
    }

    private func endpoint(
        _ value: JSON, _ words: [String], _ prefixes: [String]
    ) throws(Problem) -> JSON {
        let accepted = words + prefixes.map { "\($0):ADDRESS" }
        guard case .string(let text) = value else { throw refused(value, accepted.joined(separator: " | ")) }
        if words.contains(text) { return value }
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, prefixes.contains(String(parts[0])),
            let address = ScenarioAddress.parse(String(parts[1]))
        else { throw refused(value, accepted.joined(separator: " | ")) }
        return .string("\(parts[0]):\(ScenarioAddress.name(address))")
    }

    private func flag(_ value: JSON) throws(Problem) -> JSON {
        guard case .bool = value else { throw refused(value, "true | false") }
        return value
    }

    private func number(_ value: JSON) throws(Problem) -> JSON {
        guard value.numberValue != nil else { throw refused(value, "a number") }
        return value.integerValue.map { .integer($0) } ?? value
    }

    private func counts(_ value: JSON) throws(Problem) -> JSON {
        guard case .object(let members) = value else { throw refused(value, "an object of headsets with numbers") }
        var counts: [(String, JSON)] = []
        for member in members.sorted(by: { $0.name < $1.name }) {
            guard let address = ScenarioAddress.parse(member.name), let count = try? number(member.value) else {
                throw Problem(
                    text:
                        "\(rawValue): '\(member.name)' is not a headset with a number; accepted: H1, H2, … or an address"
                )
            }
            counts.append((ScenarioAddress.name(address), count))
        }
        return .ordered(counts)
    }

    private func ring(_ value: JSON) throws(Problem) -> JSON {
        guard case .object(let members) = value else { throw refused(value, "an object of local, headset") }
        if let unknown = members.names.filter({ $0 != "local" && $0 != "headset" }).min() {
            throw Problem(text: "ring: unknown key '\(unknown)'; accepted: local, headset")
        }
        if let local = members["local"] { _ = try flag(local) }
        if let headset = members["headset"] {
            let accepted = "none | indication | inband"
            guard case .string(let text) = headset, Ringing.HeadsetRing(rawValue: text) != nil else {
                throw refused(headset, accepted)
            }
        }
        return .ordered(members.map { ($0.name, $0.value) })
    }

    private func addresses(_ value: JSON) throws(Problem) -> JSON {
        guard case .array(let elements) = value else { throw refused(value, "a list of headsets") }
        var addresses: [JSON] = []
        for element in elements {
            guard case .string(let text) = element, let address = ScenarioAddress.parse(text) else {
                throw refused(element, "H1, H2, … or an address")
            }
            addresses.append(.string(ScenarioAddress.name(address)))
        }
        return .array(addresses)
    }

    // MARK: Comparing

    /// Whether the actual value meets the expectation: objects by the named keys only, lists of devices as sets, `…Max` and
    /// `…MaxMs` as upper bounds.
    func holds(_ expected: JSON, _ actual: JSON) -> Bool {
        switch (self, expected, actual) {
        case (.everRoute, .array(let wanted), .array(let been)): wanted.allSatisfy { Self.matches($0, anyOf: been) }
        case (.neverRoute, .array(let banned), .array(let been)): !banned.contains { Self.matches($0, anyOf: been) }
        case (.routeIn, .array(let allowed), _): allowed.contains { Self.matches($0, anyOf: [actual]) }
        case (.available, .array(let wanted), .array(let there)): Set(wanted) == Set(there)
        case (.opensMax, .object(let limits), .object(let counts)):
            limits.allSatisfy { Self.isAtMost(counts[$0.name] ?? 0, $0.value) }
        case (.opens, .object(let wanted), .object(let counts)):
            wanted.allSatisfy { (counts[$0.name] ?? 0) == $0.value }
        case (.ring, .object(let wanted), .object(let ring)): wanted.allSatisfy { ring[$0.name] == $0.value }
        case (.switchesMax, _, _), (.silenceMaxMs, _, _): Self.isAtMost(actual, expected)
        default: actual == expected
        }
    }

    /// `bluetooth` stands for any headset.
    private static func matches(_ device: JSON, anyOf devices: [JSON]) -> Bool {
        guard device == .string("bluetooth") else { return devices.contains(device) }
        return devices.contains { other in
            if case .string(let text) = other { text.hasPrefix("bluetooth") } else { false }
        }
    }

    private static func isAtMost(_ value: JSON, _ limit: JSON) -> Bool {
        guard let number = value.numberValue, let bound = limit.numberValue else { return false }
        return number <= bound
    }
}
