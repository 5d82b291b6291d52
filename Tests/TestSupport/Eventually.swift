import BluetoothTypes
import ControlLoop
package import Testing

package struct WaitedInVain: Error, CustomStringConvertible {
    package let description: String

    package init(description: String) {
        self.description = description
    }
}

/// The most that one turn of a wait takes from its limit: while the machine stands still, nothing can happen.
private let mostPerTurn = Duration.milliseconds(100)
/// The longest wait as a multiple of its limit.
private let mostLimits = 6

/// Waits for a condition to become true, by default at most ten seconds without those in which this process stood still.
@ControlPlane
package func eventually(
    _ what: String, within limit: Duration = .seconds(10), sourceLocation: SourceLocation = #_sourceLocation,
    _ condition: @ControlPlane () async throws -> Bool
) async throws {
    let end = ControlLoop.now.advanced(by: limit * mostLimits)
    var turn = ControlLoop.now
    var left = limit
    while try await !condition() {
        let now = ControlLoop.now
        left -= min(turn.duration(to: now), mostPerTurn)
        turn = now
        guard left > .zero, now < end else {
            let failure = WaitedInVain(description: "waited in vain: \(what)")
            Issue.record(failure, sourceLocation: sourceLocation)
            throw failure
        }
        await ControlLoop.shared.sleep(for: .milliseconds(5))
    }
}
