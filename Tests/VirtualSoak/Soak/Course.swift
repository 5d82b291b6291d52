import BTCall
import BTCallBench
import BTCallDaemon
import BTCallSimulator
import BluetoothTypes
import Configuration
import ControlLoop
import Glibc
import HeadsetControl
import Routing

/// A sequence of hours determined by a seed: calls, headsets, faults, changes of the configuration, and quiet.
@ControlPlane
final class Course {
    struct Violation: Error, CustomStringConvertible {
        let description: String
    }

    /// Counts of events in one hour.
    struct Counts {
        var calls = 0
        /// Calls answered and ended by a headset's button.
        var buttons = 0
        var connections = 0
        var faults = 0
        var settings = 0
        var talkSeconds = 0
    }

    let box: SoakBox
    var random: CourseGenerator
    var counts = Counts()
    /// Violated invariants, with their time.
    private(set) var violations: [String] = []
    private let begin: Instant
    private let isTelling: Bool
    /// Deliberate leak: see `Leak`.
    let leak: Leak?

    init(_ box: SoakBox, seed: UInt64, isTelling: Bool, leak: Leak?) {
        self.box = box
        random = CourseGenerator(seed: seed)
        begin = ControlLoop.now
        self.isTelling = isTelling
        self.leak = leak
    }

    // MARK: Time and chance

    var seconds: Double { begin.duration(to: ControlLoop.now).milliseconds / 1000 }

    func sleep(_ seconds: Double) async {
        await ControlLoop.shared.sleep(for: .milliseconds(Int64(seconds * 1000)))
    }

    /// A random time in seconds, with a resolution of one millisecond.
    func between(_ least: Int, _ most: Int) -> Double {
        Double(least * 1000 + random.below((most - least) * 1000)) / 1000
    }

    func chance(_ percent: Int) -> Bool { random.below(100) < percent }

    func one<Element>(of elements: [Element]) -> Element { elements[random.below(elements.count)] }

    func tell(_ what: @autoclosure () -> String) {
        if isTelling { say("[\(time)] \(what())") }
    }

    private var time: String {
        let all = Int(seconds)
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(two(all / 3600)):\(two(all / 60 % 60)):\(two(all % 60))"
    }

    // MARK: Invariants

    func violate(_ what: String) {
        violations.append("[\(time)] \(what)")
        say("VIOLATION [\(time)] \(what)")
    }

    /// Waits for an expected event.
    ///
    /// - Returns: whether it came.
    @discardableResult
    func expect(
        _ what: String, within limit: Double, _ condition: @ControlPlane () async throws -> String?
    ) async -> Bool {
        let end = seconds + limit
        while true {
            let obstacle: String?
            do { obstacle = try await condition() } catch { obstacle = "\(error)" }
            guard let obstacle else { return true }
            guard seconds < end else {
                violate("\(what), waited for \(Int(limit)) s in vain: \(obstacle)")
                return false
            }
            await sleep(0.25)
        }
    }

    /// Checks between calls: no call is left, no path is open, and every problem has a cause.
    func expectPeace() async {
        await expect("peace between calls", within: 60) {
            let status = try await box.bridge.status()
            if let call = status.calls.first { return "a call is left: \(call.id), \(call.state)" }
            if status.route != .none { return "the route is \(status.route) without a call (\(status.reason ?? ""))" }
            if status.pending != .none { return "\(status.pending) is pending without a call" }
            if status.state != .active { return "the bridge is \(status.state)" }
            if let problem = unexplained(status.problems) { return "problem without a cause: \(problem)" }
            for headset in box.headsets {
                let shown = box.daemon.headsets.description(of: headset.address) != nil
                if shown != box.isOn(headset), status.state == .active {
                    return "\(headset.name) is \(shown ? "" : "not ")there for the daemon"
                }
            }
            return nil
        }
    }

    /// Checks that an active call's audio is on a device as long as any device could carry it.
    func expectAudio(of call: Call.ID) async {
        await expect("audio for an active call", within: 30) {
            let status = try await box.bridge.status()
            guard let current = status.calls.first(where: { $0.id == call }), current.state == .active else {
                return nil
            }
            guard status.interruptions.isEmpty, box.pulled.count < SoakBox.cards.count else { return nil }
            return status.route == .none ? "no route (\(status.reason ?? "no reason"))" : nil
        }
    }

    private func unexplained(_ problems: [BridgeProblem]) -> String? {
        for problem in problems {
            let isExplained =
                switch problem.id {
                case "bluetoothd": !box.bluez.isRunning
                case "adapter": !box.isPowered || !box.bluez.isRunning
                // Headsets that reconnect as often as here are suspended.
                case let id where id.hasPrefix("reconnect."): true
                default: box.pulled.contains { problem.id == "device.\($0.rawValue)" }
                }
            if !isExplained { return "\(problem.id): \(problem.what)" }
        }
        return nil
    }

    // MARK: The hours

    /// Runs one hour: scenes and pauses, then quiet.
    func hour(_ number: Int, seconds length: Double = 3600) async throws -> Measurement {
        counts = Counts()
        let end = Double(number) * length
        let quiet = min(420, length / 4)
        // Some hours are idle: no calls, no connections.
        let isIdle = chance(10)
        while !isIdle, seconds < end - quiet - 60 {
            await scene()
            await expectPeace()
            guard violations.count < 20 else { throw Violation(description: "too much does not hold") }
            await sleep(min(pause(), max(0, end - quiet - seconds)))
        }
        await sleep(max(0, end - quiet - seconds))
        return try await quietMoment(until: end)
    }

    private func pause() -> Double {
        switch random.below(10) {
        case 0..<6: between(1, 15)
        case 6..<9: between(15, 60)
        default: between(60, 300)
        }
    }

    /// Restores everything, lets timeouts expire, and takes a measurement.
    private func quietMoment(until end: Double) async throws -> Measurement {
        for card in SoakBox.cards where box.pulled.contains(card) { box.insert(card) }
        for headset in box.headsets { box.switchOff(headset) }
        await putSettingsBack()
        await sleep(max(0, end - 5 - seconds))
        await expectPeace()
        let measurement = try await Measurement.make(box.client, stateDirectory: box.stateDirectory)
        await sleep(max(0, end - seconds))
        return measurement
    }

    private func scene() async {
        switch random.below(100) {
        case 0..<58: await call()
        case 58..<68: await comeAndGo()
        case 68..<73: await flap()
        case 73..<78: await restartBluetooth()
        case 78..<82: await adapterOff()
        case 82..<86: await providerDies()
        case 86..<93: await configure()
        case 93..<96: await reactivate()
        default: await programs()
        }
    }
}

/// A reproducible sequence (SplitMix64).
struct CourseGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    /// A number from 0 to `bound` - 1.
    mutating func below(_ bound: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int((mixed ^ (mixed >> 31)) % UInt64(bound))
    }
}

/// Prints a line immediately.
func say(_ line: String) {
    print(line)
    fflush(nil)
}

extension Duration {
    var milliseconds: Double {
        let (seconds, attoseconds) = components
        return Double(seconds) * 1000 + Double(attoseconds) / 1e15
    }
}
