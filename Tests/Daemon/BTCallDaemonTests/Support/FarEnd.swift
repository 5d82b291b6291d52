import BTCallBench
import CallExchange
import ControlLoop
import TestSupport
import Testing

/// Waits until 50 ms of the audio that arrives at the far end from now on have one sample value.
@ControlPlane
func hears(
    _ box: Box, _ sample: Int16, sourceLocation: SourceLocation = #_sourceLocation
) async throws {
    _ = box.telephone.exchange.takeRecorded()
    var alike = 0
    try await eventually("the far end hears \(sample)", sourceLocation: sourceLocation) {
        // None is left out: a short sound may come and go between two turns of a busy machine.
        for heard in box.telephone.exchange.takeRecorded() where alike < 800 {
            alike = abs(Int(heard) - Int(sample)) < 20 ? alike + 1 : 0
        }
        return alike >= 800
    }
}
