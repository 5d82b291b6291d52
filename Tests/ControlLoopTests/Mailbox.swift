import BluetoothTypes
import ControlLoop
import Testing

/// Where handlers leave what they got, for a test to wait for.
@ControlPlane
final class Mailbox<Element: Sendable> {
    private(set) var elements: [Element] = []
    private var waiting: (count: Int, continuation: CheckedContinuation<Void, Never>, timer: Timer)?

    nonisolated init() {}

    func put(_ element: Element) {
        elements.append(element)
        if let waiting, elements.count >= waiting.count { wake() }
    }

    /// Waits until `count` elements have come, at most five seconds, and takes them all.
    func take(_ count: Int = 1, sourceLocation: SourceLocation = #_sourceLocation) async -> [Element] {
        if elements.count < count {
            await withCheckedContinuation { continuation in
                guard elements.count < count else { return continuation.resume() }
                let timer = ControlLoop.shared.schedule(after: .seconds(5)) {
                    Issue.record("waited for \(count), got \(self.elements)", sourceLocation: sourceLocation)
                    self.wake()
                }
                waiting = (count, continuation, timer)
            }
        }
        defer { elements = [] }
        return elements
    }

    private func wake() {
        let woken = waiting
        waiting = nil
        woken?.timer.cancel()
        woken?.continuation.resume()
    }
}

/// A reproducible sequence (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
