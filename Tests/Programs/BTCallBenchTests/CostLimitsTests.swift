import AudioDSP
import BTCallBench
import Foundation
import Testing

@Suite struct CostLimitsTests {
    private let stages = [
        StageCost(name: AudioStages.reference, microseconds: 4, allocations: 0),
        StageCost(name: "send mSBC", microseconds: 6, allocations: 0),
    ]

    @Test func `A stage may cost as much as its limit and no more`() throws {
        #expect(try CostLimits("1.5 send mSBC").violations(stages) == [])
        #expect(
            try CostLimits("1.4 send mSBC  # not less\n\n# nothing").violations(stages) == [
                "send mSBC costs 1.50 times libsbc, both ways; at most 1.4"
            ])
    }

    @Test func `A stage without a limit, a limit without a stage, and an allocation are violations`() throws {
        let asking = [stages[0], StageCost(name: "send mSBC", microseconds: 1, allocations: 3)]
        #expect(
            try CostLimits("1 send mSBD").violations(asking) == [
                "send mSBC asked for memory 3 times: the audio thread must not",
                "send mSBC has no limit: add a line for it",
                "there is no stage \"send mSBD\" to hold to its limit",
            ])
        #expect(try CostLimits("1 send mSBC").violations([]) == ["libsbc, both ways was not measured"])
    }

    @Test(arguments: ["send mSBC", "0 send mSBC", "-1 send mSBC", "nan send mSBC", "1"])
    func `A line without ratio and name is refused`(line: String) {
        #expect(throws: CostLimits.Malformed.self) { try CostLimits("# limits\n" + line) }
        do throws(CostLimits.Malformed) {
            _ = try CostLimits("# limits\n" + line)
        } catch {
            #expect(error.line == 2)
        }
    }

    @Test func `Every measured stage has a checked-in limit`() throws {
        let root = #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
        let limits = try CostLimits(String(contentsOfFile: "/\(root)/Tests/Benchmarks/audio-limits", encoding: .utf8))
        let measured = Set(AudioStages.measure(runs: 10).map(\.name)).subtracting([AudioStages.reference])
        #expect(measured.subtracting(limits.ratios.keys).isEmpty)
        #expect(
            Set(limits.ratios.keys).subtracting(measured) == [
                "everything, with system calls", "everything, with voice processing",
            ])
    }

    @Test func `With every stage at work the audio thread ticks, and its cost is measured`() throws {
        for voice in [nil, VoiceProcessingKind.preferred] {
            var course = try EngineCourse(seconds: 1, voice: voice)
            let cost = course.run()
            course.end()
            #expect(cost.microseconds > 1 && cost.microseconds < 100_000)
        }
    }
}
