import BTCallSimulator
import Foundation
import Routing
import Testing

/// Random courses of events, checked after every event (docs/inside/Routing.md §12). A failure prints its seed and the
/// shortest course that still fails, as a scenario file for `btcall-lab replay`.
@Suite struct InvariantTests {
    /// 2000 seeds; `scripts/soak random` runs fifty times as many.
    @Test(arguments: randomCourses(20))
    func `invariants hold along a hundred random courses of two hundred events`(_ batch: Int) async {
        await check(UInt64(batch) * 100..<UInt64(batch + 1) * 100) { RandomCourse(seed: $0).report() }
    }

    @Test(arguments: randomCourses(4))
    func `invariants hold along the scenarios with other times`(_ batch: Int) async {
        let scenarios = NamedScenario.all.map(\.scenario).filter { !$0.exactTiming }
        await check(UInt64(batch) * 500..<UInt64(batch + 1) * 500) { seed in
            let scenario = scenarios[Int(seed % UInt64(scenarios.count))]
            return RandomCourse(jittering: scenario, seed: seed).report().map { "\(scenario.id), \($0)" }
        }
    }

    @Test func `a random course is the same when it is read from its file`() throws {
        for seed in 0..<UInt64(20) {
            let scenario = RandomCourse(seed: seed).scenario()
            let text = ScenarioText.file(scenario)
            let read = try #require(try ScenarioFile(Data(text.utf8)).scenarios.first)
            var first = ScenarioRunner(scenario, isTracing: true)
            var second = ScenarioRunner(read, isTracing: true)
            #expect(first.run().trace == second.run().trace, "seed \(seed)")
        }
    }

    @Test func `a failing course is shortened to its cause`() {
        var given = Scenario.Given.usual
        var headset = Scenario.HeadsetModel.usual(RandomCourse.address(1))
        headset.script = [.hangs]
        given.headsets = [headset]
        given.connected = [headset.address]
        given.preferred = .bluetooth
        given.configuration.startGrace = .seconds(3)
        var steps = (0..<199).map { RandomCourse.Step(pause: 100, record: RoutingEvent.mute($0 % 2 == 0).record) }
        #expect(RandomCourse(seed: 0, given: given, steps: steps).report() == nil)
        let call = RoutingEvent.callOutgoing(call: "c1", video: false, routes: nil).record
        steps.insert(RandomCourse.Step(pause: 100, record: call), at: 100)
        let course = RandomCourse(seed: 0, given: given, steps: steps)
        #expect(course.problem()?.contains("I2: no path for 2100 ms") == true)
        #expect(course.shrunk().steps.map(\.record) == [call])
        #expect(course.report()?.contains("{\"t\": 100, \"do\": \"call.outgoing\", \"call\": \"c1\"") == true)
    }

    /// Distributed over the processors, one small part of the seeds at a time.
    private func check(_ seeds: Range<UInt64>, _ report: @escaping @Sendable (UInt64) -> String?) async {
        await withTaskGroup(of: [String].self) { group in
            for start in stride(from: seeds.lowerBound, to: seeds.upperBound, by: 10) {
                group.addTask { (start..<min(start + 10, seeds.upperBound)).compactMap(report) }
            }
            for await reports in group {
                for report in reports { Issue.record("\(report)") }
            }
        }
    }
}
