import BTCallTrials
import Glibc
import TestSupport
import Testing

@testable import AudioDSP

/// The delays that each library is said to have, and what it does when it is told to forget.
@Suite(.serialized) struct VoiceDelayTests {
    private static let kinds = VoiceProcessingKind.allCases.filter { $0 != .none && $0.isAvailable }

    private static func speech(_ rate: Int) -> [Int16] {
        Speech.samples(Speech.heldOut, rate: rate, seconds: 5, seed: 77)
    }

    @Test(arguments: kinds, [8_000, 16_000])
    func `each stage is as late as it says, within a frame`(kind: VoiceProcessingKind, rate: Int) throws {
        let input = Self.speech(rate)
        for stage in [VoiceStages.echoCancellation, .noiseSuppression] {
            // The other stage's delay line is exact.
            var processor = try VoiceProcessor(kind, rate: rate, stages: stage)
            var output = input
            let far = [Int16](repeating: 0, count: rate / 100)
            output.withUnsafeMutableBufferPointer { output in
                guard let base = output.baseAddress else { return }
                for block in 0..<input.count / far.count { processor.process(base + block * far.count, far: far) }
            }
            let most = rate * 30 / 1000
            let measured = delay(
                of: output, after: input, in: input.count / 5..<input.count - most, among: 0..<most)
            // A noise suppressor's gains change from window to window, which moves the likeness by a fraction of a frame.
            #expect(abs(measured - processor.delayFrames) <= 1, "\(stage)")
        }
    }

    /// A stage that has forgotten starts with silence, as long as its delay.
    @Test(arguments: kinds.filter { $0 == .webrtc }, [8_000, 16_000])
    func `an echo canceller forgets as often as it is told to`(kind: VoiceProcessingKind, rate: Int) throws {
        var library = try VoiceLibrary(kind, rate: rate)
        let frames = rate / 100
        let far = [Float](repeating: 0, count: frames)
        let near = Self.speech(rate)[rate..<(rate + frames)].map { Float($0) }
        var output = [Float](repeating: 0, count: frames)
        func isSilent() -> Bool { output[..<(frames / 4)].allSatisfy { abs($0) < 1 } }
        for _ in 0..<5 {
            for _ in 0..<20 { library.cancel(far, near, into: &output) }
            #expect(!isSilent())
            // webrtc-audio-processing 1.x prepares it in another thread, whenever that is scheduled.
            var tries = 0
            repeat {
                library.resetEcho()
                library.cancel(far, near, into: &output)
                tries += 1
                sched_yield()
            } while !isSilent() && tries < 10_000
            #expect(isSilent())
        }
    }
}
