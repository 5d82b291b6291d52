import BTCallBench
import BTCallSimulator
import CallExchange
import ControlLoop
import TestSupport
import Testing

// The audio at both ends of a call.
extension Box {
    /// Waits until a whole tenth of a second on the earpiece has audio, or is silent.
    func earpiecePlays(_ isHeard: Bool, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        try await eventually("the earpiece plays \(isHeard)", sourceLocation: sourceLocation) {
            let recent = (simulation.played("earpiece").last?.samples ?? []).suffix(4800)
            guard recent.count == 4800 else { return false }
            return isHeard ? Tone.isHeard(in: recent) : recent.allSatisfy { abs(Int($0)) < 20 }
        }
    }

    /// Waits until the far end hears the person, or a tenth of a second of digital silence.
    func farEndHears(_ isHeard: Bool, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        var silent = 0
        try await eventually("the far end hears \(isHeard)", sourceLocation: sourceLocation) {
            let samples = telephone.exchange.takeRecorded()
            if isHeard { return Tone.isHeard(in: samples) }
            for sample in samples { silent = sample == 0 ? silent + 1 : 0 }
            return silent >= 1600
        }
    }
}
