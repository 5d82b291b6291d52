import AudioDSP
import BTCallTrials
import Glibc
import TestSupport
import Testing

/// Echo cancellation, gain and speech detection: the acceptance of S1.3, S1.5 and S3.3 as far as the processing goes.
///
/// Serialised: while webrtc-audio-processing 0.3 creates an echo canceller, all others of the process compute with its plain
/// C functions instead of its SSE2 ones. That changes last bits, and one test compares exactly.
@Suite(.serialized) struct VoiceProcessorTests {
    private static let kinds = VoiceProcessingKind.allCases.filter(\.isAvailable)
    private static let rates = [8_000, 16_000, 32_000, 48_000]

    private static func far(_ rate: Int, seconds: Int) -> [Int16] {
        Array(Speech.samples(rate: rate, seconds: 5).prefix(rate * seconds))
    }

    private static func near(_ rate: Int, seconds: Int) -> [Int16] {
        Array(Speech.samples(Speech.heldOut, rate: rate, seconds: 5, seed: 77).prefix(rate * seconds))
    }

    private static func silence(_ count: Int) -> [Int16] { [Int16](repeating: 0, count: count) }

    /// Output for `near`, with an action before some blocks.
    private static func run(
        _ processor: inout VoiceProcessor, near: [Int16], far: [Int16]? = nil,
        before: (inout VoiceProcessor, Int) -> Void = { _, _ in }
    ) -> [Int16] {
        let frames = processor.rate / 100
        var output = near
        let far = far ?? silence(near.count)
        output.withUnsafeMutableBufferPointer { output in
            far.withUnsafeBufferPointer { far in
                guard let output = output.baseAddress, let far = far.baseAddress else { return }
                for block in 0..<near.count / frames {
                    before(&processor, block)
                    processor.process(output + block * frames, far: far + block * frames)
                }
            }
        }
        return output
    }

    // MARK: Echo

    @Test(arguments: Room.rooms)
    func `S1.3 the default removes 25 dB of each room's echo within three seconds`(room: Room) throws {
        let (far, near) = (Self.far(16_000, seconds: 5), Self.silence(5 * 16_000))
        let trial = VoiceTrial(.still, in: room, rate: 16_000, far: far, near: near)
        let loss = try #require(try trial.figures(.preferred).lossAfter[3])
        #expect(loss >= (VoiceProcessingKind.webrtc.isAvailable ? 25 : 12))
        // The test set-up itself removes nothing.
        let none = try #require(try trial.figures(.none).lossAfter[3])
        #expect(abs(none) < 1)
    }

    @Test(arguments: [8_000, 32_000, 48_000], [VoiceStages.all])
    func `S1.3 so it does at other rates, with the gain switched on`(rate: Int, stages: VoiceStages) throws {
        let (far, near) = (Self.far(rate, seconds: 5), Self.silence(5 * rate))
        let trial = VoiceTrial(.still, in: Room.rooms[1], rate: rate, far: far, near: near)
        let loss = try #require(try trial.figures(.preferred, stages: stages).lossAfter[3])
        #expect(loss >= (VoiceProcessingKind.webrtc.isAvailable ? 25 : 12))
    }

    @Test(arguments: [VoiceTrial.Course.moved, .routed])
    func `S1.3 it recovers a second after a change of route, and three after an unreported movement`(
        course: VoiceTrial.Course
    ) throws {
        let (far, near) = (Self.far(16_000, seconds: 13), Self.silence(13 * 16_000))
        let trial = VoiceTrial(course, in: Room.rooms[2], rate: 16_000, far: far, near: near)
        let figures = try trial.figures(.preferred)
        if VoiceProcessingKind.webrtc.isAvailable {
            #expect(try #require(figures.return25) <= (course == .routed ? 1 : 3))
        }
        #expect(try #require(figures.lossAfter[10]) >= (VoiceProcessingKind.webrtc.isAvailable ? 25 : 8))
    }

    @Test(arguments: kinds.filter { $0 != .none })
    func `near-end speech at the same time stays`(kind: VoiceProcessingKind) throws {
        let (far, near) = (Self.far(16_000, seconds: 18), Self.near(16_000, seconds: 18))
        let trial = VoiceTrial(.still, in: Room.rooms[1], rate: 16_000, far: far, near: near)
        let figures = try trial.figures(kind)
        #expect(figures.doubleTalkLikeness >= 0.8)
        #expect(figures.doubleTalkLoss <= 6)
    }

    @Test(.enabled(if: VoiceProcessingKind.webrtc.isAvailable, "built without WebRTC"))
    func `a reported far delay is compensated, whatever its length`() throws {
        let rate = 16_000
        let far = Self.far(rate, seconds: 5)
        for delay in [20, 150, 450] {
            let echo = Self.silence(delay * rate / 1000) + far.map { $0 / 3 }
            var processor = try VoiceProcessor(
                .webrtc, rate: rate, stages: [.echoCancellation, .noiseSuppression], farDelayMilliseconds: delay)
            let output = Self.run(&processor, near: Array(echo.prefix(far.count)), far: far)
            let (given, left) = (Signals.rms(echo[(3 * rate)..<(5 * rate)]), Signals.rms(output[(3 * rate)...]))
            #expect(20 * log(given / max(left, 1)) >= 25)
        }
    }

    // MARK: Unchanged audio

    @Test(arguments: kinds, rates)
    func `with every stage off the microphone passes unchanged, with the stated delay`(
        kind: VoiceProcessingKind, rate: Int
    ) throws {
        var processor = try VoiceProcessor(kind, rate: rate, stages: [])
        let near = Self.near(rate, seconds: 1)
        let output = Self.run(&processor, near: near)
        let delay = processor.delayFrames
        #expect(delay <= rate * 25 / 1000)
        #expect(Array(output[delay...]) == Array(near[..<(near.count - delay)]))
        #expect(output[..<delay].allSatisfy { $0 == 0 })
    }

    @Test(arguments: kinds, rates)
    func `speech alone passes the stages at its level, with the stated delay`(
        kind: VoiceProcessingKind, rate: Int
    ) throws {
        let near = Self.near(rate, seconds: 5)
        var processor = try VoiceProcessor(kind, rate: rate, stages: [.echoCancellation, .noiseSuppression])
        let output = Self.run(&processor, near: near)
        let stated = processor.delayFrames
        let (from, to) = (2 * rate, 4 * rate)
        #expect(abs(20 * log(Signals.rms(near[from..<to]) / Signals.rms(output[(from + stated)..<(to + stated)]))) < 3)
        // Within 0.5 ms, of 10 ms to either side.
        let measured = delay(
            of: output, after: near, in: from..<to,
            among: stride(from: stated - rate / 100, through: stated + rate / 100, by: rate / 8_000))
        #expect(abs(measured - stated) <= rate / 2_000)
    }

    @Test(arguments: rates)
    func `hum is removed and speech is not`(rate: Int) throws {
        for (hertz, least, most) in [(50.0, 10.0, 40.0), (300, -0.5, 0.5), (1_000, -0.5, 0.5)] {
            var processor = try VoiceProcessor(.none, rate: rate, stages: [.highPass])
            let tone = Signals.tone(hertz, rate: rate, frames: rate, amplitude: 5_000)
            let output = Self.run(&processor, near: tone)
            let loss = 20 * log(Signals.rms(tone[(rate / 2)...]) / Signals.rms(output[(rate / 2)...]))
            #expect(loss >= least && loss <= most)
        }
    }

    @Test(arguments: kinds.filter { $0 != .none })
    func `a steady noise becomes quieter`(kind: VoiceProcessingKind) throws {
        let rate = 16_000
        var random = SeededRandom(5)
        let noise = (0..<6 * rate).map { _ in Int16.random(in: -600...600, using: &random) }
        var processor = try VoiceProcessor(kind, rate: rate, stages: [.noiseSuppression])
        let output = Self.run(&processor, near: noise)
        let loss = 20 * log(Signals.rms(noise[(4 * rate)...]) / Signals.rms(output[(4 * rate)...]))
        #expect(loss >= 8)
    }

    // MARK: Switches

    @Test(arguments: kinds, [16_000, 48_000])
    func `S1.5 bypassed and back a hundred times gives only cross-fades`(
        kind: VoiceProcessingKind, rate: Int
    ) throws {
        let far = Self.far(rate, seconds: 6)
        let echo: [Int16] = Self.silence(rate / 20) + far
        let near: [Int16] = zip(Self.near(rate, seconds: 6), echo).map { near, echo in near / 2 + echo / 3 }
        var wet = try VoiceProcessor(kind, rate: rate)
        var dry = try VoiceProcessor(kind, rate: rate)
        var switched = try VoiceProcessor(kind, rate: rate)
        dry.setBypassed(true)
        let processed = Self.run(&wet, near: near, far: far)
        let passed = Self.run(&dry, near: near, far: far)
        var toggles: [Int] = []
        let output = Self.run(&switched, near: near, far: far) { processor, block in
            if block >= 50 && block % 5 == 0 && toggles.count < 100 {
                toggles.append(block * rate / 100)
                processor.setBypassed(!processor.isBypassed)
            }
        }
        #expect(toggles.count == 100)
        // Unprocessed after the first 20 ms.
        let delay = dry.delayFrames
        let begin = rate / 50
        #expect(passed[(begin + delay)...].elementsEqual(near[begin..<(near.count - delay)]))
        // It keeps adapting: outside the fades the output is exactly one or the other, and within them in between.
        var isBypassed = false
        var next = 0
        var fadeEnd = 0
        for index in output.indices {
            if next < toggles.count && index == toggles[next] {
                isBypassed.toggle()
                fadeEnd = index + rate / 50
                next += 1
            }
            if index >= fadeEnd {
                if output[index] != (isBypassed ? passed[index] : processed[index]) {
                    Issue.record("neither dry nor processed at \(index)")
                    break
                }
            } else {
                let (low, upper) = (min(passed[index], processed[index]), max(passed[index], processed[index]))
                if Int(output[index]) < Int(low) - 1 || Int(output[index]) > Int(upper) + 1 {
                    Issue.record("outside dry and processed at \(index)")
                    break
                }
            }
        }
        // No click, by a detector that finds planted steps: the same hard switches, to a copy that is 8192 off.
        func clicks(_ samples: [Int16]) -> Int {
            let found = Set(ClickDetector.clicks(in: samples, reference: passed, rate: rate))
            return found.intersection(ClickDetector.clicks(in: samples, reference: processed, rate: rate)).count
        }
        #expect(clicks(output) == 0)
        var hard = passed
        for (number, start) in toggles.enumerated() {
            let end = number + 1 < toggles.count ? toggles[number + 1] : hard.count
            for index in start..<end { hard[index] = number % 2 == 0 ? processed[index] ^ 0x2000 : passed[index] }
        }
        #expect(clicks(hard) > 20)
    }

    @Test(arguments: kinds)
    func `stages come and go without a click, and the delay stays`(kind: VoiceProcessingKind) throws {
        let rate = 16_000
        let near = Self.near(rate, seconds: 6)
        var processor = try VoiceProcessor(kind, rate: rate, stages: [])
        // Without the gain, so that the output bends like the input.
        let choices: [VoiceStages] = [
            [.echoCancellation], [], [.highPass, .echoCancellation, .noiseSuppression], [.noiseSuppression],
            [.highPass], [],
        ]
        var block = 0
        let output = Self.run(&processor, near: near) { processor, number in
            block = number
            if number % 7 == 0 { processor.setStages(choices[number / 7 % choices.count]) }
            if number % 90 == 45 { processor.reset(farDelayMilliseconds: number) }
        }
        #expect(block > 500)
        #expect(ClickDetector.clicks(in: output, reference: near, rate: rate).isEmpty)
        // The same switches without a fade, to a copy that is 4096 off, are detected.
        let switches = stride(from: 7 * rate / 100, to: output.count, by: 7 * rate / 100)
        let hard = output.indices.map { index in
            index / (7 * rate / 100) % 2 == 0 ? output[index] : output[index] ^ 0x1000
        }
        #expect(ClickDetector.clicks(in: hard, reference: near, rate: rate).count > switches.underestimatedCount / 3)
        processor.setStages([])
        let after = Self.run(&processor, near: near)
        let delay = processor.delayFrames
        #expect(Array(after[(2 * rate + delay)...]) == Array(near[(2 * rate)..<(near.count - delay)]))
    }

    // MARK: Gain

    @Test(arguments: kinds, rates)
    func `S3.3 speech of -35 dB comes out at -20 dB`(kind: VoiceProcessingKind, rate: Int) throws {
        let speech = Self.near(rate, seconds: 10)
        let factor = 32_768 * 0.01778 / Signals.rms(speech)
        let quiet = speech.map { Int16(Double($0) * factor) }
        var processor = try VoiceProcessor(kind, rate: rate)
        let output = Self.run(&processor, near: quiet)
        let level = 20 * log(Signals.rms(output[(5 * rate)...]) / 32_768)
        #expect(abs(level + 20) <= 3)
        // Not without it.
        var without = try VoiceProcessor(kind, rate: rate, stages: [.highPass, .echoCancellation])
        let plain = Self.run(&without, near: quiet)
        #expect(20 * log(Signals.rms(plain[(5 * rate)...]) / 32_768) < -33)
    }

    @Test func `S3.3 loud speech becomes quieter, and a quiet room does not become loud`() throws {
        let rate = 16_000
        let speech = Self.near(rate, seconds: 10)
        var processor = try VoiceProcessor(.none, rate: rate)
        let loud = Self.run(&processor, near: speech.map { Int16(max(-32_000, min(32_000, Int($0) * 4))) })
        #expect(abs(20 * log(Signals.rms(loud[(5 * rate)...]) / 32_768) + 20) <= 3)
        #expect((loud.map { abs(Int($0)) }.max() ?? 0) < 32_767)
        var random = SeededRandom(3)
        let room = (0..<10 * rate).map { _ in Int16.random(in: -100...100, using: &random) }
        var still = try VoiceProcessor(.none, rate: rate, stages: [.automaticGain])
        #expect(Self.run(&still, near: room) == room)
    }

    // MARK: Speech

    @Test(arguments: kinds, [8_000, 16_000, 48_000])
    func `S1.13 speaking is detected within half a second and ends within a second`(
        kind: VoiceProcessingKind, rate: Int
    ) throws {
        var random = SeededRandom(9)
        let room = (0..<2 * rate).map { _ in Int16.random(in: -60...60, using: &random) }
        let speech = Self.near(rate, seconds: 5)
        let near = room + speech + room
        var processor = try VoiceProcessor(kind, rate: rate)
        processor.setBypassed(true)
        var marks: [Bool] = []
        _ = Self.run(&processor, near: near) { processor, _ in marks.append(processor.isSpeaking) }
        #expect(!marks[..<200].contains(true))
        // From the first sound on.
        let first = (speech.firstIndex { abs(Int($0)) > 1_000 } ?? 0) * 100 / rate
        let noticed = marks.firstIndex(of: true) ?? .max
        #expect(noticed - 200 - first <= 50)
        #expect(marks[noticed..<690].count { $0 } > 450 - first)
        #expect(!marks[810...].contains(true))
    }

    @Test func `S1.13 neither the loudspeaker nor a knock nor a fan counts as speech`() throws {
        let rate = 16_000
        for kind in Self.kinds.filter({ $0 == .preferred }) {
            let far = Self.far(rate, seconds: 8)
            let trial = VoiceTrial(
                .still, in: Room.rooms[1], rate: rate, far: far, near: Self.silence(far.count))
            var processor = try VoiceProcessor(kind, rate: rate, farDelayMilliseconds: 60)
            var marks: [Bool] = []
            _ = Self.run(&processor, near: trial.microphone, far: far) { processor, _ in
                marks.append(processor.isSpeaking)
            }
            #expect(!marks.contains(true))
        }
        var random = SeededRandom(4)
        var near = (0..<6 * rate).map { index in
            Int16.random(in: index < 2 * rate ? -40...40 : -2_000...2_000, using: &random)
        }
        for index in 0..<400 { near[rate + index] = Int16.random(in: -20_000...20_000, using: &random) }
        var processor = try VoiceProcessor(.none, rate: rate)
        var marks: [Bool] = []
        _ = Self.run(&processor, near: near) { processor, _ in marks.append(processor.isSpeaking) }
        #expect(!marks.contains(true))
    }

    // MARK: Refusals

    @Test func `an unavailable library or unsupported rate is refused with a reason`() throws {
        #expect(throws: VoiceProcessorError.unsupportedRate(44_100)) {
            _ = try VoiceProcessor(.none, rate: 44_100)
        }
        #expect(VoiceProcessorError.unsupportedRate(44_100).description.hasSuffix("not 44100"))
        if VoiceProcessingKind.webrtc.isAvailable {
            #expect(VoiceProcessingKind.preferred == .webrtc)
        } else {
            #expect(VoiceProcessingKind.preferred == .speex)
            #expect(throws: VoiceProcessorError.unavailable(.webrtc)) { _ = try VoiceProcessor(.webrtc, rate: 16_000) }
        }
        #expect(VoiceProcessorError.unavailable(.webrtc).description == VoiceProcessingKind.howToBuild)
    }

    @Test(arguments: kinds, rates)
    func `the loudest noise on both sides is followed by silence again`(kind: VoiceProcessingKind, rate: Int) throws {
        var random = SeededRandom(2)
        let loud = (0..<rate).map { _ in Bool.random(using: &random) ? Int16.max : Int16.min }
        var processor = try VoiceProcessor(kind, rate: rate, farDelayMilliseconds: 10_000)
        processor.reset(farDelayMilliseconds: -5)
        _ = Self.run(&processor, near: loud, far: Array(loud.reversed()))
        let output = Self.run(&processor, near: Self.silence(2 * rate))
        #expect(Signals.rms(output[rate...]) < 40)
    }

    @Test(arguments: kinds)
    func `it runs where neither allocation nor locks are allowed`(kind: VoiceProcessingKind) throws {
        var processor = try VoiceProcessor(kind, rate: 48_000)
        var near = [Int16](repeating: 100, count: 480)
        let far = [Int16](repeating: 0, count: 480)
        #expect(Self.everything(&processor, &near, far) == processor.delayFrames)
    }

    /// The test is that this compiles.
    @_noLocks
    private static func everything(
        _ processor: inout VoiceProcessor, _ near: UnsafeMutablePointer<Int16>, _ far: UnsafePointer<Int16>
    ) -> Int {
        processor.process(near, far: far)
        processor.setStages(.echoCancellation)
        processor.setBypassed(true)
        processor.reset(farDelayMilliseconds: 100)
        processor.process(near, far: far)
        return processor.delayFrames &+ (processor.isSpeaking ? 1 : 0)
    }

    /// Decimal.
    private func log(_ value: Double) -> Double { Glibc.log10(max(value, 1e-9)) }
}
