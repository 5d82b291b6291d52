import BluetoothTypes
import Routing

/// Cost of one event for the routing policy with 1, 10 and 100 known headsets, over the same seeded mix of events.
///
/// The shortest of several repetitions counts: the machine also does other work. The cost must be linear in the number of
/// headsets (a hundred headsets: a ratio of at most 100); a higher ratio is a bug.
@main struct RoutingBench {
    private static let events = 20_000
    private static let repetitions = 7

    static func main() {
        print("headsets  us/event  ratio to 1")
        var first: Double?
        for headsets in [1, 10, 100] {
            let course = BenchCourse(headsets: headsets)
            var best = Double.infinity
            for _ in 0..<repetitions { best = min(best, course.microsecondsPerEvent(events)) }
            first = first ?? best
            let ratio = best / (first ?? best)
            print("\(padded("\(headsets)", 8))  \(padded(decimal(best), 8))  \(padded(decimal(ratio), 10))")
        }
    }

    private static func decimal(_ number: Double) -> String {
        let hundredths = Int(number * 100 + 0.5)
        return "\(hundredths / 100).\(hundredths / 10 % 10)\(hundredths % 10)"
    }

    private static func padded(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(width - text.count, 0)) + text
    }
}

/// A policy during calls with headsets that connect, leave, fall silent and are chosen.
private struct BenchCourse {
    private let addresses: [BluetoothAddress]
    private let start: RoutingPolicy

    init(headsets: Int) {
        addresses = (1...headsets).map { BluetoothAddress(value: 0x0200_0000_0000 + UInt64($0)) }
        var policy = RoutingPolicy()
        for event: RoutingEvent in [.start, .setPreferred(.bluetooth), .setDefault(.earpiece)] {
            _ = policy.handle(event, at: .zero)
        }
        for address in addresses { _ = policy.handle(.headsetConnected(address, profiles: [.hfp, .a2dp]), at: .zero) }
        start = policy
    }

    /// Links open and close with the next event; each of those answers counts as an event.
    func microsecondsPerEvent(_ count: Int) -> Double {
        var policy = start
        var random = Random(state: 1)
        var now = Instant(milliseconds: 60_000)
        var answers: [RoutingEvent] = []
        var checksum = 0
        let clock = ContinuousClock()
        let duration = clock.measure {
            for _ in 0..<count {
                now = now.advanced(by: .milliseconds(Int64(random.below(400))))
                let event = answers.popLast() ?? self.event(&random)
                for effect in policy.handle(event, at: now) {
                    checksum += 1
                    switch effect {
                    case .openLink(let address, _, _, _): answers = [.linkOpened(address)]
                    case .closeLink(let address): answers = [.linkClosed(address, .requested)]
                    default: break
                    }
                }
            }
        }
        guard checksum > 0 else { return .infinity }
        return Double(duration.nanoseconds) / 1000 / Double(count)
    }

    private func event(_ random: inout Random) -> RoutingEvent {
        let address = addresses[random.below(addresses.count)]
        return switch random.below(16) {
        case 0: .callOutgoing(call: "c1", video: false, routes: nil)
        case 1: .callIncoming(call: "c2", video: false, routes: nil)
        case 2: .callAnswered(call: "c2", via: .headset(address))
        case 3: .callEnded(call: random.below(2) == 0 ? "c1" : "c2")
        case 4: .headsetDisconnected(address)
        case 5, 6: .headsetConnected(address, profiles: [.hfp, .a2dp])
        case 7: .headsetProfile(address, .hfp, isUp: random.below(3) > 0)
        case 8: .linkOpenedByHeadset(address, mode: .hfp)
        case 9: .linkClosed(address, .linkLoss)
        case 10: .linkSilent(address)
        case 11: .linkResumed(address)
        case 12: .select(random.below(2) == 0 ? .headset(address) : .earpiece)
        case 13: .clearSelection
        case 14: .setPreferred(.bluetooth)
        default: .deadlineReached
        }
    }
}

/// SplitMix64.
private struct Random {
    var state: UInt64

    mutating func below(_ limit: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int((word ^ (word >> 31)) % UInt64(limit))
    }
}
