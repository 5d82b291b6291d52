import ControlLoop
import Foundation
import Testing

@testable import BTCallCommand

@Suite struct TimeArgumentTests {
    /// 2025-03-01 17:04:05.678 UTC
    private static let now: Int64 = 1_740_848_645_678

    private func milliseconds(_ text: String, now: Int64 = now) -> Int64? {
        TimeArgument(text, now: WallClock(milliseconds: now))?.time.milliseconds
    }

    private func local(_ year: Int, _ month: Int, _ day: Int, _ hour: Int, _ minute: Int, _ second: Int) throws -> Int64
    {
        let components = DateComponents(year: year, month: month, day: day, hour: hour, minute: minute, second: second)
        let date = try #require(Calendar(identifier: .gregorian).date(from: components))
        return Int64(date.timeIntervalSince1970) * 1000
    }

    @Test(arguments: [
        ("2025-03-01T17:04:05.678Z", now), ("2025-03-01 17:04:05,678Z", now), ("2025-03-01T17:04:05Z", now - 678),
        ("2025-03-01T17:04:05.6Z", now - 78), ("2025-03-01T17:04:05.6789Z", now),
        ("2025-03-01T18:34:05.678+01:30", now),
        ("2025-03-01T12:04:05.678-0500", now), ("1970-01-01T00:00:00Z", 0), ("-90", now - 90_000),
        ("-90s", now - 90_000),
        ("-1.5", now - 1500), ("-0", now),
    ])
    func `A time is read to the millisecond`(_ text: String, _ expected: Int64) {
        #expect(milliseconds(text) == expected)
    }

    @Test func `Without a zone a date is local time`() throws {
        #expect(milliseconds("2025-07-01T08:09:10") == (try local(2025, 7, 1, 8, 9, 10)))
        #expect(milliseconds("2025-01-31T23:59:59.5") == (try local(2025, 1, 31, 23, 59, 59)) + 500)
    }

    @Test func `A time of day is its latest occurrence`() throws {
        let noon = try local(2025, 3, 1, 12, 0, 0)
        #expect(milliseconds("11:59:59", now: noon) == (try local(2025, 3, 1, 11, 59, 59)))
        #expect(milliseconds("12:00:00", now: noon) == noon)
        #expect(milliseconds("12:00:00.001", now: noon) == (try local(2025, 2, 28, 12, 0, 0)) + 1)
        #expect(milliseconds("23:00:00", now: noon) == (try local(2025, 2, 28, 23, 0, 0)))
    }

    @Test(arguments: [
        "", "-", "-s", "--5", "90", "noon", "12:00", "24:00:00", "12:60:00", "12:00:60", "12:00:00.", "+1:00:00",
        "2025-03-01", "2025-13-01T00:00:00Z", "2025-03-32T00:00:00Z", "25-03-01T00:00:00Z", "2025-03-01T00:00:00X",
        "2025-03-01T00:00:00+1", "2025-03-01T00:00:00+25:00", "-99999999999",
    ])
    func `A text that is not a time is refused`(_ text: String) {
        #expect(milliseconds(text) == nil)
    }
}
