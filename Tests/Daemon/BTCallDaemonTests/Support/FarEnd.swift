import BTCallBench
import CallExchange
import ControlLoop
import TestSupport
import Testing

/// What the far end hears in the next tenth of a second is all of one height.
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
