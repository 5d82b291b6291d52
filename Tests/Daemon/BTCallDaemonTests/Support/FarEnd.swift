import BTCallBench
import CallExchange
import ControlLoop
import TestSupport
import Testing

/// Waits until all audio of the next tenth of a second at the far end has one sample value.
@ControlPlane
func hears(
    _ box: Box, _ sample: Int16, sourceLocation: SourceLocation = #_sourceLocation
) async throws {
    try await eventually("the far end hears \(sample)", sourceLocation: sourceLocation) {
        _ = box.telephone.exchange.takeRecorded()
        await ControlLoop.shared.sleep(for: .milliseconds(60))
        let heard = box.telephone.exchange.takeRecorded().suffix(400)
        return heard.count == 400 && heard.allSatisfy { abs(Int($0) - Int(sample)) < 20 }
    }
}
