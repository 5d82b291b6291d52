import AudioDSP
import BTCallTrials
import Foundation
import Testing

@testable import AudioEngine

/// For what only WebRTC's processing can show.
private let withWebRTC = ConditionTrait.enabled(if: VoiceProcessingKind.webrtc.isAvailable, "built without WebRTC")

/// Voice processing within a call: the acceptance of S1.3 to S1.5, S1.13 and S3.3 through the engine's own tick.
struct VoiceTests {
    private static let rate = TickBench.rate
    private static let kinds = VoiceProcessingKind.allCases.filter(\.isAvailable)
    private static let isWebRTC = VoiceProcessingKind.webrtc.isAvailable

    private static let far = Speech.samples(rate: rate, seconds: 5)
    private static let near = Speech.samples(Speech.heldOut, rate: rate, seconds: 5, seed: 77)

    private static func farEnd(_ frame: Int) -> Int16 { far[frame % far.count] }
    private static func nearEnd(_ frame: Int) -> Int16 { frame < 0 ? 0 : near[frame % near.count] }
    private static func nobody(_ frame: Int) -> Int16 { 0 }

    private static func decibels(_ power: Double) -> Double { 10 * log10(max(power, 1e-9)) }
    private static func power(_ samples: some Collection<Int16>) -> Double {
        samples.reduce(0) { $0 + Double($1) * Double($1) } / Double(max(samples.count, 1))
    }

    /// Reduction of the echo in decibels in the seconds from `start` on, on a bench with one device.
    private static func loss(_ bench: TickBench, _ device: TickBench.Device, _ seconds: Range<Double>) -> Double {
        let frames = Int(seconds.lowerBound * Double(rate))..<Int(seconds.upperBound * Double(rate))
        let echo = device.echo[frames].reduce(0.0) { $0 + Double($1) * Double($1) } / Double(frames.count)
        // 50 ms of silence precede the microphone's audio.
        return decibels(echo) - decibels(power(bench.uplink[(frames.lowerBound + 800)..<(frames.upperBound + 800)]))
    }

    // MARK: Echo and gain

    @Test(arguments: [Room.rooms[0], Room.rooms[2]])
    func `S1.3 the default removes 20 dB of a card's echo in a call within three seconds`(room: Room) throws {
        let bench = TickBench(far: Self.farEnd)
        let device = try bench.add(1, in: room)
        try bench.setVoice(.preferred)
        bench.route(to: 1)
        bench.run(seconds: 5)
        let loss = Self.loss(bench, device, 3..<4.5)
        #expect(loss >= (Self.isWebRTC ? 20 : 12), "\(loss) dB")
        #expect(device.xruns == 0)
        // The engine itself removes nothing.
        let plain = TickBench(far: Self.farEnd)
        let other = try plain.add(1, in: room)
        plain.route(to: 1)
        plain.run(seconds: 3)
        #expect(abs(Self.loss(plain, other, 1..<2.5)) < 1)
    }

    @Test(arguments: kinds.filter { $0 != .none })
    func `S1.3 S3.3 speech of -35 dB is sent to the far end at -20 dB`(kind: VoiceProcessingKind) throws {
        let factor = 32_768 * 0.01778 / Self.power(Self.near).squareRoot()
        let quiet: (Int) -> Int16 = { Int16(Double(Self.nearEnd($0)) * factor) }
        func level(_ stages: VoiceStages) throws -> Double {
            let bench = TickBench(far: Self.nobody)
            _ = try bench.add(1, in: Room.rooms[1], near: quiet)
            try bench.setVoice(kind, stages)
            bench.route(to: 1)
            bench.run(seconds: 8)
            return Self.decibels(Self.power(bench.uplink.suffix(4 * Self.rate)) / (32_768 * 32_768))
        }
        let processed = try level(.all)
        #expect(abs(processed + 20) <= 3, "\(processed) dB")
        let plain = try level([.highPass, .echoCancellation, .noiseSuppression])
        #expect(plain < -33, "\(plain) dB")
    }

    @Test(withWebRTC) func `S1.3 a device that processes its own voice is left alone, and processed when it stops`()
        throws
    {
        let bench = TickBench(far: Self.farEnd)
        let device = try bench.add(1, in: Room.rooms[1])
        try bench.setVoice(.webrtc)
        bench.send(.setOwnVoice(1, true))
        bench.route(to: 1)
        bench.run(seconds: 4)
        // Only delayed: the same as without processing.
        let plain = TickBench(far: Self.farEnd)
        _ = try plain.add(1, in: Room.rooms[1])
        plain.route(to: 1)
        plain.run(seconds: 4)
        let delay = try VoiceProcessor(.webrtc, rate: Self.rate).delayFrames
        let second = Self.rate
        #expect(bench.uplink[(second + delay)..<(3 * second + delay)].elementsEqual(plain.uplink[second..<3 * second]))
        #expect(abs(Self.loss(bench, device, 2..<3.5)) < 1)
        bench.send(.setOwnVoice(1, false))
        bench.run(seconds: 5)
        #expect(Self.loss(bench, device, 6..<8.5) >= 20)
        bench.send(.setOwnVoice(1, true))
        bench.run(seconds: 2)
        #expect(abs(Self.loss(bench, device, 9.5..<10.5)) < 1)
    }

    @Test(withWebRTC) func `S1.3 after a change of route in mid-sentence the echo is down again within a second`()
        throws
    {
        let bench = TickBench(far: Self.farEnd)
        let first = try bench.add(1, in: Room.rooms[0])
        let second = try bench.add(2, in: Room.rooms[2], queueMilliseconds: 150)
        try bench.setVoice(.webrtc)
        bench.route(to: 1)
        bench.run(seconds: 6)
        #expect(Self.loss(bench, first, 3..<5.5) >= 20)
        bench.route(to: 2)
        bench.run(seconds: 4)
        // In pieces of 250 ms, from the switch on: the echo of the new card, and the far end's audio.
        let piece = Self.rate / 4
        let offset = bench.uplink.count - second.echo.count
        var (after, worst) = (Double.infinity, Double.infinity)
        for start in stride(from: 0, to: second.echo.count - piece, by: piece).reversed() {
            let echo = second.echo[start..<start + piece].reduce(0.0) { $0 + Double($1) * Double($1) } / Double(piece)
            // A pause of the far end gives no measurement.
            guard Self.decibels(echo) > 40 else { continue }
            let left = Self.power(bench.uplink[(offset + start)..<(offset + start + piece)])
            let loss = Self.decibels(echo) - Self.decibels(left)
            if loss < 20 { break }
            after = Double(start) / Double(Self.rate)
            worst = min(worst, loss)
        }
        print("re-converged \(after) s after the cut, at least \(worst) dB from there on")
        #expect(after <= 1)
        #expect(first.xruns + second.xruns == 0)
    }

    // MARK: Switches

    /// Longest time without a tone, in milliseconds.
    private static func longestGap(_ samples: ArraySlice<Int16>) -> Int {
        var (longest, present) = (0, 0)
        for start in stride(from: samples.startIndex, to: samples.endIndex - 16, by: 16) {
            present = power(samples[start..<start + 16]) < 1_000_000 ? present + 1 : 0
            longest = max(longest, present)
        }
        return longest
    }

    @Test func `S1.4 processing stops and starts in a call with a gap of at most 200 ms, and the rate stays`() throws {
        let say = tone(1_000, rate: Self.rate)
        let bench = TickBench(far: Self.nobody)
        let device = try bench.add(1, in: Room.rooms[1]) { say(max($0, 0)) }
        bench.route(to: 1)
        bench.run(seconds: 1)
        var changes = 0
        let choices = Self.kinds.map { Optional($0) } + [nil]
        for choice in choices + choices {
            // Without the suppressor, to which a tone is noise.
            if let choice {
                try bench.setVoice(choice, [.highPass, .echoCancellation])
            } else {
                bench.send(.setVoice(nil, []))
            }
            changes += 1
            bench.run(seconds: 0.5)
        }
        // Two changes at once: one of them is never heard.
        try bench.setVoice(.none)
        try bench.setVoice(.none)
        bench.run(seconds: 0.5)
        // All processors were returned except the last.
        #expect(bench.returnedVoices == changes / choices.count * Self.kinds.count + 1)
        let gap = Self.longestGap(bench.uplink[Self.rate...])
        print("longest gap \(gap) ms in \(changes) changes")
        #expect(gap <= 60)
        // The tone before and after is complete, 10 ms of it for each 10 ms.
        #expect(bench.ticks * 10 - Int(bench.time / 1_000_000 - 1_000) >= -30)
        #expect(bench.uplink.count == (bench.ticks + 5) * TickBench.tickFrames)
        #expect(device.xruns == 0 && bench.call.blocksMissing == 0)
    }

    @Test func `S1.5 bypassed a hundred times in a call: no xrun, and only cross-fades`() throws {
        let kind = VoiceProcessingKind.preferred
        func run(_ change: (TickBench, Int) -> Void) throws -> (bench: TickBench, xruns: Int) {
            let bench = TickBench(far: Self.farEnd)
            let device = try bench.add(1, in: Room.rooms[1], near: Self.nearEnd)
            try bench.setVoice(kind)
            bench.route(to: 1)
            bench.run(seconds: 6) { change(bench, $0) }
            return (bench, device.xruns + device.terminal.pointee.counters.pointee.playbackXruns.read())
        }
        func bypass(_ bench: TickBench, _ on: Bool) { bench.send(.setVoiceBypassed(on)) }
        let wet = try run { _, _ in }.bench.uplink
        let dry = try run { bench, tick in if tick == 0 { bypass(bench, true) } }.bench.uplink
        var toggles: [Int] = []
        let (bench, xruns) = try run { bench, tick in
            guard tick >= 50, tick % 5 == 0, toggles.count < 100 else { return }
            toggles.append(bench.uplink.count)
            bypass(bench, toggles.count % 2 == 1)
        }
        let output = bench.uplink
        #expect(toggles.count == 100 && xruns == 0 && output.count == wet.count && output.count == dry.count)
        #expect(wet != dry)
        // 20 ms from the first block that can show it, plus five in flight.
        let fade = Self.rate / 50
        var outside = 0
        var (number, end, isDry) = (0, 0, false)
        for index in output.indices {
            while number < toggles.count && index >= toggles[number] {
                isDry.toggle()
                end = toggles[number] + fade + TickBench.tickFrames
                number += 1
            }
            let (low, high) = (min(wet[index], dry[index]), max(wet[index], dry[index]))
            if index < end {
                if output[index] < low - 1 || output[index] > high + 1 { outside += 1 }
            } else if output[index] != (isDry ? dry[index] : wet[index]) {
                outside += 1
            }
        }
        #expect(outside == 0)
        func clicks(_ samples: [Int16]) -> Int {
            Set(ClickDetector.clicks(in: samples, reference: dry, rate: Self.rate))
                .intersection(ClickDetector.clicks(in: samples, reference: wet, rate: Self.rate)).count
        }
        #expect(clicks(output) == 0)
        // The detector finds such switches when they are hard, to a copy that is off.
        var hard = dry
        for (number, start) in toggles.enumerated() where number % 2 == 0 {
            let end = number + 1 < toggles.count ? toggles[number + 1] : hard.count
            for index in start..<end { hard[index] = wet[index] ^ 0x2000 }
        }
        #expect(clicks(hard) > 20)
    }

    @Test func `S1.5 stages change during a call, and the present ones apply to the next call`() throws {
        let bench = TickBench(far: Self.nobody)
        let say = tone(50, rate: Self.rate)
        _ = try bench.add(1, in: Room.rooms[1]) { say(max($0, 0)) }
        try bench.setVoice(.preferred, [])
        bench.route(to: 1)
        bench.run(seconds: 2)
        let whole = Self.power(bench.uplink.suffix(Self.rate / 2))
        bench.send(.setVoiceStages(.highPass))
        bench.run(seconds: 1)
        let filtered = Self.power(bench.uplink.suffix(Self.rate / 2))
        #expect(Self.decibels(whole) - Self.decibels(filtered) > 10)
        bench.send(.setVoiceStages([]))
        bench.run(seconds: 1)
        #expect(abs(Self.decibels(Self.power(bench.uplink.suffix(Self.rate / 2))) - Self.decibels(whole)) < 0.1)
    }

    // MARK: Muted

    /// Muted from the first second on; number of reports of speech, and the far end's audio from then on.
    private func muted(
        _ kind: VoiceProcessingKind, _ muting: Muting = .everything, far: @escaping (Int) -> Int16 = nobody,
        near: @escaping (Int) -> Int16 = nobody
    ) throws -> (events: Int, heard: ArraySlice<Int16>) {
        let bench = TickBench(far: far)
        _ = try bench.add(1, in: Room.rooms[1], near: near)
        try bench.setVoice(kind)
        bench.route(to: 1)
        // The echo is known by then.
        bench.run(seconds: 3)
        bench.send(.mute(muting))
        bench.run(seconds: 0.1)
        let from = bench.uplink.count
        bench.run(seconds: 8)
        return (bench.count(.speakingWhileMuted), bench.uplink[from...])
    }

    @Test(arguments: kinds)
    func `S1.13 muted the far end gets zeros, and speech is reported, not more than once in five seconds`(
        kind: VoiceProcessingKind
    ) throws {
        let (events, heard) = try muted(kind, near: Self.nearEnd)
        #expect(heard.allSatisfy { $0 == 0 } && heard.count >= 7 * Self.rate)
        #expect(events == 2)
    }

    @Test(arguments: kinds)
    func `S1.13 silence is not reported, nor speech in progress when it was muted`(kind: VoiceProcessingKind) throws {
        #expect(try muted(kind).events == 0)
        let last = 3 * Self.rate
        #expect(try muted(kind, near: { $0 < last ? Self.nearEnd($0) : 0 }).events == 0)
    }

    @Test(withWebRTC) func `S1.13 the echo of the far end is not reported, but the user is`() throws {
        #expect(try muted(.webrtc, far: Self.farEnd).events == 0)
        #expect(try muted(.webrtc, far: Self.farEnd, near: Self.nearEnd).events >= 1)
    }

    @Test func `S1.13 speech is not reported where only the microphone is muted, nor without muting`() throws {
        #expect(try muted(.preferred, .microphone, near: Self.nearEnd).events == 0)
        #expect(try muted(.preferred, .off, near: Self.nearEnd).events == 0)
    }

    @Test func `a listener leaves every bit of the microphone unchanged, muted or not`() throws {
        func run(_ listens: Bool) throws -> [Int16] {
            let bench = TickBench(far: Self.farEnd)
            _ = try bench.add(1, in: Room.rooms[1], near: Self.nearEnd)
            if listens { try bench.setVoice(.none) }
            bench.route(to: 1)
            bench.run(seconds: 1)
            bench.send(.mute(.everything))
            bench.run(seconds: 0.5)
            bench.send(.mute(.off))
            bench.run(seconds: 1)
            return bench.uplink
        }
        #expect(try run(true) == run(false))
    }
}

extension RealtimeTests {
    @Suite struct VoiceTests {
        /// Through the engine's control side, with its thread.
        @Test func `S1.4 S1.5 a call continues through every switch, and the engine ends during one`() throws {
            let bench = try EngineBench()
            let (peer, descriptor) = try bench.makeHeadset(
                1, .pcm(rate: 16_000), .pcm16(rate: 16_000), packetBytes: 320
            ) { _ in 500 }
            let provider = try bench.makeCall(1, rate: 16_000) { _ in 700 }
            bench.engine.route(to: 1)
            #expect(bench.wait { if case .routed = $0 { true } else { false } } != nil)
            for kind in VoiceProcessingKind.allCases.filter(\.isAvailable) {
                try bench.engine.setVoiceProcessing(kind)
                for number in 0..<100 {
                    bench.engine.setVoiceBypassed(number % 2 == 0)
                    bench.engine.setVoiceStages(number % 3 == 0 ? [] : .all)
                    bench.engine.setOwnVoiceProcessing(1, number % 7 == 0)
                    let blocks = provider.blocks
                    #expect(bench.waitUntil { provider.blocks > blocks })
                }
            }
            try bench.engine.setVoiceProcessing(nil)
            try bench.engine.setVoiceProcessing(.preferred)
            try bench.engine.setVoiceProcessing(.preferred)
            bench.engine.stop()
            peer.stop()
            provider.stop()
            close(descriptor)
        }

        @Test func `an unavailable library is refused, and the present processing stays`() throws {
            let bench = try EngineBench()
            for kind in VoiceProcessingKind.allCases where !kind.isAvailable {
                #expect(throws: AudioEngineError.voiceProcessing(.unavailable(kind))) {
                    try bench.engine.setVoiceProcessing(kind)
                }
            }
            try bench.engine.setVoiceProcessing(VoiceProcessingKind.none)
            bench.engine.stop()
            #expect(throws: AudioEngineError.commandQueueFull) {
                try bench.engine.setVoiceProcessing(VoiceProcessingKind.none)
            }
        }
    }
}
