/// A day of the Gregorian calendar, for rows that expire.
package struct CalendarDate: Hashable, Comparable, Sendable, CustomStringConvertible {
    private let year: Int
    private let month: Int
    private let day: Int

    /// Reads `2027-06-30`; nil for anything else, including days that do not exist.
    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count == 10, bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-") else { return nil }
        func number(_ range: Range<Int>) -> Int? {
            var number = 0
            for byte in bytes[range] {
                guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
                number = number * 10 + Int(byte - UInt8(ascii: "0"))
            }
            return number
        }
        guard let year = number(0..<4), let month = number(5..<7), let day = number(8..<10), (1...12).contains(month),
            day >= 1, day <= Self.days(ofMonth: month, year)
        else { return nil }
        (self.year, self.month, self.day) = (year, month, day)
    }

    /// - Parameter unixSeconds: since 1970-01-01 00:00 UTC; earlier times count as that day.
    package init(unixSeconds: Int64) {
        var days = Int(max(unixSeconds, 0) / 86_400)
        var year = 1970
        // By years and months: a few hundred steps do not matter here.
        while year < 9999, days >= Self.days(ofYear: year) {
            days -= Self.days(ofYear: year)
            year += 1
        }
        var month = 1
        while month < 12, days >= Self.days(ofMonth: month, year) {
            days -= Self.days(ofMonth: month, year)
            month += 1
        }
        (self.year, self.month, day) = (year, month, min(days, 30) + 1)
    }

    package static func < (left: CalendarDate, right: CalendarDate) -> Bool {
        (left.year, left.month, left.day) < (right.year, right.month, right.day)
    }

    package var description: String {
        let digits = String(year * 10_000 + month * 100 + day)
        let padded = String(repeating: "0", count: max(8 - digits.count, 0)) + digits
        return "\(padded.prefix(4))-\(padded.dropFirst(4).prefix(2))-\(padded.suffix(2))"
    }

    private static func days(ofYear year: Int) -> Int { isLeap(year) ? 366 : 365 }

    private static func isLeap(_ year: Int) -> Bool {
        year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400))
    }

    private static func days(ofMonth month: Int, _ year: Int) -> Int {
        switch month {
        case 2: isLeap(year) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}
