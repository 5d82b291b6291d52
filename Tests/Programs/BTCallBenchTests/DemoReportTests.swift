import BTCallBench
import BTCallSimulator
import Foundation
import Testing

/// The report must be computed from the samples: recordings generated here, with and without planted cuts.
@Suite(.serialized) struct DemoReportTests {
    static let rate = DemoRecordings.rate

    /// Speech-like: noise through two slowly moving resonances, so that neighbouring parts differ.
    static func voice(seconds: Double, seed: UInt64) -> [Int16] {
        var noise = NoiseGenerator(seed: seed)
        var (first, second) = (0.0, 0.0)
        return (0..<Int(seconds * Double(rate))).map { index in
            let loudness = 0.2 + 0.8 * abs(Double((index + Int(seed) * 977) % 5200) / 2600 - 1)
            let value = 1.6 * first - 0.8 * second + noise.next() * 900 * loudness
            (second, first) = (first, value)
            return Int16(max(-30000, min(30000, value)))
        }
    }

    static let farEnd = voice(seconds: 3, seed: 1)
    static let microphones = [voice(seconds: 4, seed: 2), voice(seconds: 4, seed: 3)]

    /// The far end begins at 0.5 s; device 0 plays 1.2 s of it, device 1 continues with the next sample, both with a delay
    /// of 60 ms. Each microphone is heard 40 ms late, with a cross-fade of 20 ms between them.
    static func recordings() -> DemoRecordings {
        func place(_ range: Range<Int>) -> [Int16] {
            var samples = [Int16](repeating: 0, count: 4 * rate)
            let delay = (rate / 2) + rate * 60 / 1000
            for index in range where index + delay < samples.count { samples[index + delay] = farEnd[index] }
            return samples
        }
        let cut = Int(1.2 * Double(rate))
        let start = rate / 2
        let fade = rate / 50
        let heard = (0..<5 * rate / 2).map { index -> Int16 in
            let source = max(0, index + start - rate * 40 / 1000)
            let share = Double(max(0, min(fade, index - cut))) / Double(fade)
            return Int16(Double(microphones[0][source]) * (1 - share) + Double(microphones[1][source]) * share)
        }
        return DemoRecordings(
            devices: [
                .init(name: "earpiece", played: place(0..<cut), microphone: microphones[0]),
                .init(name: "headset 1", played: place(cut..<farEnd.count), microphone: microphones[1]),
            ], farEnd: farEnd, farEndHeard: heard, farEndStart: 0.5,
            steps: [
                .init(number: 1, title: "call", at: 0.5, limitMs: 0),
                .init(number: 2, title: "headset", at: 1.6, limitMs: 0),
            ])
    }

    @Test func `a call without loss has no gap`() {
        let report = Self.recordings().report()
        #expect(report.steps.map(\.downlinkGapMs) == [0, 0])
        #expect(report.steps.map(\.uplinkGapMs) == [0, 0])
        #expect(report.strayGapsMs.isEmpty)
        #expect(report.passed)
        #expect(report.played.map(\.device) == ["earpiece", "headset 1"])
        #expect(report.heard.map(\.device) == ["earpiece", "headset 1"])
    }

    /// A vowel resembles itself one period earlier and later, so that it is not first recognised at its beginning.
    @Test(arguments: [70, 125]) func `a device that begins in a vowel has no gap`(period: Int) {
        var recordings = Self.recordings()
        let cut = Int(1.2 * Double(Self.rate))
        let delay = Self.rate / 2 + Self.rate * 60 / 1000
        var farEnd = recordings.farEnd
        for index in cut - 960..<cut + 960 {
            let phase = 2 * Double.pi * Double(index) / Double(period)
            farEnd[index] = Int16(3_000 * (sin(phase) + 0.7 * sin(2 * phase + 1) + 0.5 * sin(3 * phase + 2)))
        }
        for device in 0...1 {
            for index in cut - 960..<cut + 960 where (index < cut) == (device == 0) {
                recordings.devices[device].played[index + delay] = farEnd[index]
            }
        }
        let report = DemoRecordings(
            devices: recordings.devices, farEnd: farEnd, farEndHeard: recordings.farEndHeard,
            farEndStart: recordings.farEndStart, steps: recordings.steps
        ).report()
        #expect(report.steps.map(\.downlinkGapMs) == [0, 0])
        #expect(report.passed)
    }

    /// The report when device 1 leaves out `lengthMs` at each of `places`, milliseconds after it has begun, the latest first.
    static func report(leavingOut lengthMs: Int, at places: [Int]) -> DemoReport {
        var recordings = recordings()
        let begin = Int(1.2 * Double(rate)) + rate / 2 + rate * 60 / 1000
        for place in places.map({ begin + rate * $0 / 1000 }) {
            recordings.devices[1].played.removeSubrange(place..<place + rate * lengthMs / 1000)
        }
        return recordings.report()
    }

    /// As a device does that catches up with what went unheard.
    @Test(arguments: [60, 90, 110]) func `a device that leaves out a period soon after it has begun has no gap`(
        afterMs: Int
    ) {
        let report = Self.report(leavingOut: 8, at: [afterMs])
        #expect(report.steps.map(\.downlinkGapMs) == [0, 0])
        #expect(report.strayGapsMs.isEmpty)
    }

    @Test func `a device that leaves out two periods soon after it has begun has no gap`() {
        #expect(Self.report(leavingOut: 11, at: [155, 90]).steps.map(\.downlinkGapMs) == [0, 0])
    }

    /// More than two periods of a voice are a loss.
    @Test func `a jump of 50 ms soon after a device has begun is reported`() {
        let gaps = Self.report(leavingOut: 50, at: [90]).steps.map(\.downlinkGapMs)
        #expect((45...140).contains(gaps.max() ?? 0), "\(gaps)")
    }

    /// The change of devices occurs shortly before a pause of the speech, in which the device plays only noise.
    @Test(arguments: [60, 120]) func `a device that begins before a pause has no gap`(pauseMs: Int) {
        var recordings = Self.recordings()
        let cut = Int(1.2 * Double(Self.rate))
        let delay = Self.rate / 2 + Self.rate * 60 / 1000
        let pause = cut + Self.rate * 40 / 1000..<cut + Self.rate * (40 + pauseMs) / 1000
        var farEnd = recordings.farEnd
        var noise = NoiseGenerator(seed: 9)
        for index in pause {
            farEnd[index] /= 50
            recordings.devices[1].played[index + delay] = Int16(noise.next() * 40)
        }
        func report() -> DemoReport {
            DemoRecordings(
                devices: recordings.devices, farEnd: farEnd, farEndHeard: recordings.farEndHeard,
                farEndStart: recordings.farEndStart, steps: recordings.steps
            ).report()
        }
        #expect(report().steps.map(\.downlinkGapMs) == [0, 0])
        // Silence before the pause does not belong to it.
        for index in cut..<pause.lowerBound { recordings.devices[1].played[index + delay] = 0 }
        let gap = report().steps[1].downlinkGapMs
        #expect((40 + pauseMs - 20...40 + pauseMs + 15).contains(gap))
    }

    @Test func `100 ms cut out of a device's playback are reported`() {
        var recordings = Self.recordings()
        let at = Int(2.4 * Double(Self.rate))
        recordings.devices[1].played.removeSubrange(at..<at + Self.rate / 10)
        let report = recordings.report()
        #expect((90...115).contains(report.steps[1].downlinkGapMs))
        #expect(!report.passed)
    }

    @Test func `100 ms of silence in a device's playback are reported`() {
        var recordings = Self.recordings()
        let at = Int(2.6 * Double(Self.rate))
        for index in at..<at + Self.rate / 10 { recordings.devices[1].played[index] = 0 }
        let report = recordings.report()
        #expect((90...115).contains(report.steps[1].downlinkGapMs))
        #expect(!report.passed)
    }

    @Test func `100 ms cut out of the far end's recording are reported`() {
        var recordings = Self.recordings()
        let at = Int(0.6 * Double(Self.rate))
        for index in at..<at + Self.rate / 10 { recordings.farEndHeard[index] = 3 }
        let report = recordings.report()
        #expect((90...115).contains(report.steps[0].uplinkGapMs))
        #expect(!report.passed)
    }

    @Test func `a gap that belongs to no step fails the report`() {
        var recordings = Self.recordings()
        let at = Int(0.9 * Double(Self.rate))
        for index in at..<at + Self.rate / 10 { recordings.devices[0].played[index] = 0 }
        let report = DemoRecordings(
            devices: recordings.devices, farEnd: recordings.farEnd, farEndHeard: recordings.farEndHeard,
            farEndStart: recordings.farEndStart, steps: [recordings.steps[1]]
        ).report()
        #expect(report.strayGapsMs.count == 1)
        #expect(!report.passed)
    }

    /// One voice briefly resembles another: here the second person says the same as the first for 160 ms.
    @Test func `an absent person is not heard`() {
        let recordings = Self.recordings()
        let same = Int(0.9 * Double(Self.rate))..<Int(1.06 * Double(Self.rate))
        var other = recordings.devices[1].microphone
        for index in same { other[index] = recordings.devices[0].microphone[index] }
        var devices = recordings.devices
        devices[1] = .init(name: "headset 1", played: devices[1].played, microphone: other)
        let report = DemoRecordings(
            devices: devices, farEnd: recordings.farEnd, farEndHeard: recordings.farEndHeard,
            farEndStart: recordings.farEndStart, steps: recordings.steps
        ).report()
        #expect(report.heard.map(\.device) == ["earpiece", "headset 1"])
        #expect(report.passed)
    }

    @Test func `a loss while the machine is late is not attributed to btcall`() {
        var recordings = Self.recordings()
        let at = Int(2.6 * Double(Self.rate))
        for index in at..<at + Self.rate / 10 { recordings.devices[1].played[index] = 0 }
        recordings.lateTicks = [.init(at: 2.4, milliseconds: 130)]
        let busy = recordings.report()
        #expect(busy.verdict == .tooBusy)
        #expect(busy.steps.map(\.verdict) == [.passed, .tooBusy])
        #expect(busy.latestTickMs == 130)
        // At another time the machine's lateness excuses nothing.
        recordings.lateTicks = [.init(at: 0.7, milliseconds: 130)]
        #expect(recordings.report().verdict == .lost)
        // One of two losses without an excuse is enough.
        recordings.lateTicks = [.init(at: 2.4, milliseconds: 130)]
        let early = Int(0.6 * Double(Self.rate))
        for index in early..<early + Self.rate / 10 { recordings.farEndHeard[index] = 3 }
        #expect(recordings.report().verdict == .lost)
    }

    @Test func `a late machine without losses passes`() {
        var recordings = Self.recordings()
        recordings.lateTicks = [.init(at: 2.4, milliseconds: 20)]
        #expect(recordings.report().verdict == .passed)
    }
}
