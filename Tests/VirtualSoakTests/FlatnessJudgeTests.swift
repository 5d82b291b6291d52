import Testing

@testable import VirtualSoak

struct FlatnessJudgeTests {
    private func isFlat(_ values: [Int], bound: Int = 0) throws -> Bool {
        try FlatnessJudge.judge("something", values, bound: bound).isFlat
    }

    @Test func aConstantIsFlat() throws {
        #expect(try isFlat(Array(repeating: 41, count: 24)))
    }

    @Test func whatFillsUpInTheFirstQuarterIsFlat() throws {
        #expect(try isFlat((0..<24).map { min($0, 5) * 100 }))
    }

    @Test func aSlopeOfOneAnHourIsNotFlat() throws {
        let finding = try FlatnessJudge.judge("descriptors", (0..<24).map { 41 + $0 }, bound: 0)
        #expect(finding == .init(name: "descriptors", second: 47, last: 59, bound: 0))
        #expect(!finding.isFlat)
    }

    @Test func aSlopeBelowTheBoundIsFlatAndOneAboveIsNot() throws {
        let slope = { (perHour: Int) in (0..<24).map { 5000 + $0 * perHour } }
        #expect(try isFlat(slope(5), bound: 64))
        #expect(try !isFlat(slope(6), bound: 64))
    }

    @Test func aSlopeUnderNoiseIsNotFlat() throws {
        let noise = [0, 30, 7, 22, 3, 41, 12, 5]
        #expect(try !isFlat((0..<24).map { 5000 + 20 * $0 + noise[$0 % 8] }, bound: 64))
        #expect(try isFlat((0..<24).map { 5000 + noise[$0 % 8] }, bound: 64))
    }

    @Test func aStepInTheSecondHalfIsNotFlat() throws {
        #expect(try !isFlat((0..<24).map { $0 < 17 ? 41 : 42 }))
    }

    @Test func whatIsInUseInOneQuietMomentIsNoLeak() throws {
        var values = Array(repeating: 41, count: 24)
        values[20] = 60
        #expect(try isFlat(values))
    }

    @Test func fourQuietMomentsAreEnoughAndThreeAreNot() throws {
        #expect(try isFlat([1, 2, 2, 2]))
        #expect(try !isFlat([1, 2, 2, 3]))
        #expect(throws: FlatnessJudge.TooFew.self) { try isFlat([1, 2, 3]) }
    }
}

struct SoakOptionsTests {
    @Test func thePlanIsADayWithSeedOne() throws {
        let options = try #require(Soak.Options([]))
        #expect(options.hours == 24 && options.seed == 1 && options.leak == nil)
    }

    @Test func optionsAreRead() throws {
        let options = try #require(Soak.Options(["--hours", "6", "--seed", "7", "--plant", "memory", "--tell"]))
        #expect(options.hours == 6 && options.seed == 7 && options.leak == .memory && options.isTelling)
    }

    @Test(arguments: [["--hours"], ["--hours", "3"], ["--plant", "nothing"], ["24"], ["--seed", "-1"]])
    func whatIsNotUnderstoodIsRefused(words: [String]) {
        #expect(Soak.Options(words) == nil)
    }
}
