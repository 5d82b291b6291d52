import BluetoothTypes
import ControlLoop
package import Testing

package struct WaitedInVain: Error, CustomStringConvertible {
    package let description: String

    package init(description: String) {
        self.description = description
    }
}

/// Waits for a condition to become true, by default at most ten seconds.
@ControlPlane
package func eventually(
    _ what: String, within limit: Duration = .seconds(10), sourceLocation: SourceLocation = #_sourceLocation,
    _ condition: @ControlPlane () async throws -> Bool
) async throws {
    let end = ControlLoop.now.advanced(by: limit)
    while try await !condition() {
        guard ControlLoop.now < end else {
            let failure = WaitedInVain(description: "waited in vain: \(what)")
            Issue.record(failure, sourceLocation: sourceLocation)
            throw failure
        }
        await ControlLoop.shared.sleep(for: .milliseconds(5))
    }
}
