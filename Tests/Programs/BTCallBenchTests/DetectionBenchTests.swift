import BTCallBench
import BTCallTrials
import Testing

@Suite struct DetectionBenchTests {
    /// A line for each packet of 7.5 ms, with pauses (start and end in seconds) in which none arrives.
    private func lines(seconds: Double, pauses: [ClosedRange<Double>] = []) -> String {
        let times = stride(from: 0, to: seconds, by: 0.0075)
        return times.filter { time in !pauses.contains { $0.contains(time) } }.map { "\($0) 0\n" }.joined()
    }

    private func measured(_ text: String) throws -> [DetectionBench.Row] {
        DetectionBench.rows(try ArrivalRecording(Array(text.utf8)))
    }

    @Test func `five minutes of each course bring no false alarm, and dead links are found in time`() {
        let rows = DetectionBench.rows(minutes: 5)
        #expect(rows.count == 2 * ArrivalCourse.all.count)
        for row in rows {
            #expect(row.violations == [])
            #expect(row.dying.detections.count >= 6, "\(row.name)")
        }
    }

    @Test func `a steady recording is judged like a course`() throws {
        let rows = try measured(lines(seconds: 120))
        #expect(rows.map(\.name) == ["link 1"])
        let row = try #require(rows.first)
        #expect(row.violations == [])
        #expect(row.living.falseAlarms == 0)
        #expect(row.dying.detections.count >= 2 && row.dying.missed == 0)
        #expect(row.dying.usual == 60 && row.dying.longest == 60)
    }

    @Test func `a pause without precedent is a false alarm, and the second one of its kind is not`() throws {
        let once = try measured(lines(seconds: 20, pauses: [12...12.15]))
        #expect(once.map(\.living.falseAlarms) == [1])
        #expect(once.flatMap(\.violations).first == "link 1: 1 false alarms")
        let twice = try measured(lines(seconds: 30, pauses: [12...12.15, 25...25.15]))
        #expect(twice.map(\.living.falseAlarms) == [1])
    }

    @Test func `a controller that reports nothing received for dead headsets does not hide their deaths`() throws {
        // One packet in fifty is lost, so that deaths are reported, too.
        let text = lines(seconds: 120).split(separator: "\n").enumerated().map { index, line in
            index % 50 == 49 ? "\(line.dropLast())2\n" : "\(line)\n"
        }
        let row = try #require(try measured(text.joined()).first)
        #expect(row.violations == [])
        #expect(row.dying.detections.count >= 2 && row.dying.longest == 60)
    }

    @Test func `the same seed gives the same packets, in the order of their times, and another seed gives others`() {
        for course in ArrivalCourse.all {
            let packets = Array(course.arrivals(seed: 1).prefix(20_000))
            #expect(packets == Array(course.arrivals(seed: 1).prefix(20_000)), "\(course.name)")
            #expect(packets != Array(course.arrivals(seed: 2).prefix(20_000)), "\(course.name)")
            #expect(zip(packets, packets.dropFirst()).allSatisfy { $0.time <= $1.time }, "\(course.name)")
        }
    }

    @Test func `a course loses the share of packets that it says`() throws {
        for course in ArrivalCourse.all {
            guard let losses = course.losses else { continue }
            let lost = course.arrivals(seed: 1).prefix(50_000).count { $0.status == 2 }
            #expect((0.9...1.1).contains(Double(lost) / 50_000 / losses.share), "\(course.name)")
        }
    }

    @Test func `a thread that slept finds the packets first`() {
        let steady = (0..<2_000).map { Arrival(time: Int64($0) * 7_500_000) }
        func late(_ isAfterStall: Bool) -> [Arrival] {
            steady.map { packet in
                guard packet.time > 10_000_000_000, packet.time < 10_120_000_000 else { return packet }
                return Arrival(time: 10_120_000_000, isAfterStall: isAfterStall)
            }
        }
        #expect(DetectionTrial(late(true), for: 15_000_000_000).falseAlarms == 0)
        #expect(DetectionTrial(late(false), for: 15_000_000_000).falseAlarms == 1)
    }
}
