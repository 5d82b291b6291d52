package import AudioDSP
import Glibc

/// Two people who talk through a loudspeaker and a microphone in a room, and the output of a `VoiceProcessor`.
///
/// The far end speaks all the time, through a loudspeaker that distorts a little, and returns 9 dB quieter; the room has
/// noise of -70 dB. The near end is 6 dB louder than the echo.
package struct VoiceTrial {
    package enum Course: String, CaseIterable, Sendable {
        /// Nothing changes; the near end speaks from 12 to 18 s.
        case still
        /// At 8 s the microphone is moved, without notice to the processor.
        case moved
        /// At 8 s another loudspeaker, microphone and room with 150 ms instead of 60 ms, with notice to the processor.
        case routed
    }

    package struct Figures: Sendable {
        /// Attenuation of the echo in decibels in the 1.5 s from the given time in seconds.
        package var lossAfter: [Double: Double] = [:]
        /// Correlation of the output in double talk with the near end alone, 0 to 1.
        package var doubleTalkLikeness = 0.0
        /// Attenuation of the near end in the output, in decibels.
        package var doubleTalkLoss = 0.0
        /// Seconds after the change until the attenuation stays above 25 dB, or above the earlier one less 3 dB if that is
        /// lower; nil when it never does.
        package var return25: Double?
        /// Processor time for 10 ms.
        package var microseconds = 0.0
    }

    package static let changeTime = 8.0
    package static let doubleTalk = 12.0..<18.0
    package static let times = [1.0, 3.0, 10.0]

    package let rate: Int
    package let course: Course
    /// The loudspeaker's signal.
    package let far: [Int16]
    /// The near end's speech at the microphone, without anything else.
    package let near: [Int16]
    /// The microphone's signal.
    package let microphone: [Int16]

    /// - Parameters:
    ///   - far: speech; 18 s for double talk, 13 s for changes.
    ///   - near: of the same length.
    package init(_ course: Course, in room: Room, rate: Int, far: [Int16], near: [Int16]) {
        self.rate = rate
        self.course = course
        self.far = far
        let count = far.count
        let loudspeaker = far.map { 9_000 * tanhf(Float($0) / 9_000) }
        let first = Self.echo(loudspeaker, room.response(rate: rate), delay: Self.firstDelay, rate)
        var echo = first.samples
        if course != .still {
            let other: Room = course == .moved ? room.moved : Room.rooms.first { $0.name != room.name } ?? room
            let delay = course == .moved ? Self.firstDelay : Self.secondDelay
            let second = Self.echo(
                loudspeaker, other.response(rate: rate), delay: delay, rate,
                factor: course == .moved ? first.factor : nil)
            let change = Int(Self.changeTime * Double(rate))
            echo = Array(first.samples[..<change] + second.samples[change...])
        }
        var random = SeededRandom(7)
        let speaks = course == .still
        let begin = Int(Self.doubleTalk.lowerBound * Double(rate))
        let end = Int(Self.doubleTalk.upperBound * Double(rate))
        let clean = (0..<count).map { index in
            speaks && index >= begin && index < end ? Int16(Double(near[index]) * 0.7) : 0
        }
        self.near = clean
        microphone = (0..<count).map { index in
            let noise = Float.random(in: -Self.noise...Self.noise, using: &random)
            return Int16(max(-32_768, min(32_767, (echo[index] + Float(clean[index]) + noise).rounded())))
        }
    }

    private static let firstDelay = 60
    private static let secondDelay = 150
    /// Uniformly distributed, with an RMS of 10.
    private static let noise: Float = 17.3
    /// From the loudspeaker's to the echo's level, 9 dB.
    private static let coupling: Float = 0.355

    private static func echo(
        _ loudspeaker: [Float], _ response: [Float], delay: Int, _ rate: Int, factor: Float? = nil
    ) -> (samples: [Float], factor: Float) {
        // Delay of the capture's own block and the loudspeaker's queue, in addition to the air.
        let late = [Float](repeating: 0, count: delay * rate / 1000) + response
        let echo = Convolution.convolve(loudspeaker, late)
        func energy(_ values: [Float]) -> Float { values.reduce(0) { $0 + $1 * $1 } }
        let factor = factor ?? coupling * (energy(loudspeaker) / max(energy(echo), 1)).squareRoot()
        return (echo.map { $0 * factor }, factor)
    }

    // MARK: Processing

    private static let arm: (@convention(c) (Int32) -> Void)? = dlsym(nil, "btcall_realtime_armed").map {
        unsafeBitCast($0, to: (@convention(c) (Int32) -> Void).self)
    }

    /// The output, and the processor time for 10 ms.
    package func run(_ processor: inout VoiceProcessor) -> (samples: [Int16], microseconds: Double) {
        run(&processor, microphone)
    }

    private func run(
        _ processor: inout VoiceProcessor, _ input: [Int16]
    ) -> (samples: [Int16], microseconds: Double) {
        let frames = rate / 100
        var output = input
        let blocks = output.count / frames
        let change = Int(Self.changeTime * 100)
        _ = Self.arm
        var before = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before)
        output.withUnsafeMutableBufferPointer { output in
            far.withUnsafeBufferPointer { far in
                guard let output = output.baseAddress, let far = far.baseAddress else { return }
                // Allocations are counted from here on, with Tests/Lab/realtime-interposer.c.
                Self.arm?(1)
                var block = 0
                while block < blocks {
                    if course == .routed && block == change { processor.reset(farDelayMilliseconds: Self.secondDelay) }
                    processor.process(output + block &* frames, far: far + block &* frames)
                    block &+= 1
                }
                Self.arm?(0)
            }
        }
        var after = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after)
        let seconds = Double(after.tv_sec - before.tv_sec) + Double(after.tv_nsec - before.tv_nsec) / 1e9
        return (output, seconds * 1e6 / Double(max(blocks, 1)))
    }

    /// Uses a new processor.
    package func figures(
        _ kind: VoiceProcessingKind, stages: VoiceStages = [.highPass, .echoCancellation, .noiseSuppression]
    ) throws(VoiceProcessorError) -> Figures {
        var processor = try VoiceProcessor(kind, rate: rate, stages: stages, farDelayMilliseconds: Self.firstDelay)
        let (output, microseconds) = run(&processor)
        var figures = Figures()
        figures.microseconds = microseconds
        let delay = processor.delayFrames
        for time in Self.times where Double(output.count) / Double(rate) > time + 1.6 {
            figures.lossAfter[time] = loss(output, from: time, seconds: 1.5, delay)
        }
        if near.count < Int(Self.changeTime * Double(rate)) { return figures }
        if course == .still && Double(near.count) / Double(rate) < Self.doubleTalk.upperBound { return figures }
        if course == .still {
            // The high pass changes the phase of a voice, which is not an error here.
            var plain = try VoiceProcessor(.none, rate: rate, stages: stages.intersection(.highPass))
            let reference = run(&plain, near).samples
            (figures.doubleTalkLikeness, figures.doubleTalkLoss) = doubleTalk(
                output, reference, delay - plain.delayFrames)
        } else {
            figures.return25 = timeToReturn(output, delay)
        }
        return figures
    }

    /// Attenuation in decibels of the output relative to the microphone.
    package func loss(_ output: [Int16], from time: Double, seconds: Double, _ delay: Int) -> Double {
        let start = Int(time * Double(rate))
        let end = min(start + Int(seconds * Double(rate)), output.count - delay)
        var (given, left) = (0.0, 0.0)
        for index in start..<end {
            given += Double(microphone[index]) * Double(microphone[index])
            left += Double(output[index + delay]) * Double(output[index + delay])
        }
        return 10 * log10(max(given, 1) / max(left, 1))
    }

    private func timeToReturn(_ output: [Int16], _ delay: Int) -> Double? {
        let before = loss(output, from: Self.changeTime - 2, seconds: 2, delay)
        // A processor without attenuation cannot return to it.
        if before < 6 { return nil }
        let wanted = min(25, before - 3)
        let window = 0.5
        let end = Double(output.count) / Double(rate) - Self.changeTime - 1
        let steps = stride(from: 0.0, through: min(4, end), by: 0.1)
        var result: Double?
        for time in steps {
            if loss(output, from: Self.changeTime + time, seconds: window, delay) >= wanted {
                if result == nil { result = time }
            } else {
                result = nil
            }
        }
        return result
    }

    /// Starts one second after the near end has begun.
    private func doubleTalk(
        _ output: [Int16], _ reference: [Int16], _ delay: Int
    ) -> (likeness: Double, loss: Double) {
        let start = Int((Self.doubleTalk.lowerBound + 1) * Double(rate))
        let end = Int(Self.doubleTalk.upperBound * Double(rate)) - delay - 64
        var best = (likeness: 0.0, loss: Double.infinity)
        // speexdsp delays parts of it by a fraction of a millisecond.
        for shift in stride(from: -32, through: 32, by: 4) {
            var (product, wanted, made) = (0.0, 0.0, 0.0)
            for index in start..<end {
                let (clean, out) = (Double(reference[index]), Double(output[index + delay + shift]))
                product += clean * out
                wanted += clean * clean
                made += out * out
            }
            let likeness = product / max((wanted * made).squareRoot(), 1)
            if likeness > best.likeness { best = (likeness, -20 * log10(max(product / wanted, 1e-6))) }
        }
        return best
    }
}
