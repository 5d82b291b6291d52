package import BluetoothTypes
public import Foundation
import JSONText
package import Routing

/// A sequence of events with expectations (docs/inside/Routing.md §15).
public struct Scenario: Sendable {
    public let id: String
    public let title: String
    public let tags: [String]
    public let source: String?
    /// Whether the call may be without a path at times, so that silence is not checked.
    public let mayBeSilent: Bool
    /// Whether its times must not be varied.
    public let exactTiming: Bool
    /// Whether it is a recording: it contains the completions of links, so that no headset is modelled.
    public let isRecorded: Bool
    /// For a recording: the time of day at its zero.
    public internal(set) var startedAt: Date?
    package let given: Given
    package let steps: [Step]

    package struct Given: Sendable {
        package var locals: Set<LocalDevice> = [.speakerphone, .earpiece]
        package var jack = JackState.empty
        /// Ordered by address.
        package var headsets: [HeadsetModel] = []
        /// Oldest first.
        package var connected: [BluetoothAddress] = []
        package var preferred = AudioDevice.none
        package var defaultDevice = AudioDevice.none
        package var started = true
        package var configuration = RoutingConfiguration()
        /// For a recording: the policy before the first step, instead of everything else.
        package var state: RoutingPolicy?
    }

    /// Behaviour of a headset.
    package struct HeadsetModel: Sendable {
        package let address: BluetoothAddress
        package var profiles: [LinkMode] = [.hfp, .a2dp]
        package var category = ClassOfDevice.Category.headset
        package var inband = true
        package var openTime = Duration.milliseconds(300)
        package var closeTime = Duration.milliseconds(50)
        package var script: [LinkOutcome] = []
    }

    /// Outcome of one request for a link.
    package enum LinkOutcome: Hashable, Sendable {
        case opens
        /// Opens, and the headset closes it after this time.
        case opensFor(Duration)
        case refuses
        case hangs
    }

    package struct Step: Sendable {
        package let time: Instant
        package let action: Action
    }

    package enum Action: Sendable {
        case event(EventRecord)
        case mark
        /// Ordered by name.
        case expect([Expectation])
    }

    package struct Expectation: Sendable {
        let observable: ScenarioObservable
        /// In the form returned by `ScenarioObservable.normalized`.
        let value: JSON
    }
}

/// The placeholder addresses of scenarios: `H1` stands for an address, and is printed instead of it.
enum ScenarioAddress {
    private static let base: UInt64 = 0x0200_0000_0000

    /// Reads a placeholder `H1` to `H65535` or an address.
    static func parse(_ text: String) -> BluetoothAddress? {
        guard text.hasPrefix("H"), let number = UInt16(text.dropFirst()), number > 0, text == "H\(number)" else {
            return BluetoothAddress(text)
        }
        return BluetoothAddress(value: base + UInt64(number))
    }

    static func name(_ address: BluetoothAddress) -> String {
        guard address.value > base, address.value <= base + 0xFFFF else { return address.description }
        return "H\(address.value - base)"
    }

    /// Replaces the placeholder after the last colon of `bluetooth:H1` or `sco:H1`, or standing alone.
    static func resolved(_ text: String) -> String {
        for prefix in ["bluetooth:", "sco:", "a2dp:"] where text.hasPrefix(prefix) {
            guard let address = parse(String(text.dropFirst(prefix.count))) else { return text }
            return prefix + address.description
        }
        return parse(text)?.description ?? text
    }

    /// Replaces addresses with their placeholders.
    static func abbreviated(_ text: String, _ addresses: [BluetoothAddress]) -> String {
        var result = text
        for address in addresses {
            result = result.replacing(address.description, with: name(address))
        }
        return result
    }
}
