import ArgumentParser
import CommandKit
import ControlLoop

/// A past time, as typed by a person.
struct TimeArgument: Hashable, Sendable {
    static let accepted =
        "2025-03-01T17:04:05 (local time, or with Z or +01:00; milliseconds as .678), 17:04:05 of the last 24 hours, "
        + "or -90 for 90 seconds ago"

    let time: WallClock

    /// - Returns: nil for a text that is not a time.
    init?(_ text: String, now: WallClock = .now) {
        let found = Self.ago(text, now) ?? Self.timeOfDay(text, now) ?? Self.date(text)
        guard let found else { return nil }
        time = WallClock(milliseconds: found)
    }

    /// `-90`, `-90s`, `-1.5`
    private static func ago(_ text: String, _ now: WallClock) -> Int64? {
        guard text.hasPrefix("-") else { return nil }
        var digits = text.dropFirst()
        if digits.last == "s" { digits.removeLast() }
        guard let (whole, milliseconds) = seconds(digits), whole < 1_000_000_000 else { return nil }
        return now.milliseconds - Int64(whole) * 1000 - milliseconds
    }

    /// `17:04:05.678`: today, or yesterday when it has not come yet today.
    private static func timeOfDay(_ text: String, _ now: WallClock) -> Int64? {
        var parts = now.localParts
        guard set(text[...], in: &parts) else { return nil }
        let today = WallClock(local: parts)
        guard today.milliseconds > now.milliseconds else { return today.milliseconds }
        parts.day -= 1
        return WallClock(local: parts).milliseconds
    }

    /// `2025-03-01T17:04:05.678+01:00`; a space may replace the T.
    private static func date(_ text: String) -> Int64? {
        let halves = text.split(maxSplits: 1, omittingEmptySubsequences: false) { $0 == "T" || $0 == " " }
        guard halves.count == 2 else { return nil }
        let fields = halves[0].split(separator: "-", omittingEmptySubsequences: false)
        guard fields.count == 3, fields[0].utf8.count == 4, let year = number(fields[0]),
            let month = number(fields[1], 1...12), let day = number(fields[2], 1...31)
        else { return nil }
        var parts = WallClock.Parts(year: Int32(year), month: Int32(month), day: Int32(day))
        if halves[1].hasSuffix("Z") {
            return set(halves[1].dropLast(), in: &parts) ? WallClock(universal: parts).milliseconds : nil
        }
        guard let sign = halves[1].lastIndex(where: { $0 == "+" || $0 == "-" }) else {
            return set(halves[1], in: &parts) ? WallClock(local: parts).milliseconds : nil
        }
        let zone = halves[1][sign...].dropFirst().filter { $0 != ":" }
        guard zone.utf8.count == 4, let hours = number(zone.prefix(2), 0...23),
            let minutes = number(zone.suffix(2), 0...59), set(halves[1][..<sign], in: &parts)
        else { return nil }
        let offset = Int64(hours * 60 + minutes) * 60_000
        return WallClock(universal: parts).milliseconds - (halves[1][sign] == "+" ? offset : -offset)
    }

    /// Reads `17:04:05.678` into the time of day.
    private static func set(_ text: Substring, in parts: inout WallClock.Parts) -> Bool {
        let fields = text.split(separator: ":", omittingEmptySubsequences: false)
        guard fields.count == 3, let hour = number(fields[0], 0...23), let minute = number(fields[1], 0...59),
            let (second, milliseconds) = seconds(fields[2]), second < 60
        else { return false }
        parts.hour = Int32(hour)
        parts.minute = Int32(minute)
        parts.second = Int32(second)
        parts.milliseconds = milliseconds
        return true
    }

    /// Whole seconds, and milliseconds after a point or comma.
    private static func seconds(_ text: Substring) -> (Int, Int64)? {
        let fields = text.split(maxSplits: 1, omittingEmptySubsequences: false) { $0 == "." || $0 == "," }
        guard let first = fields.first, let whole = number(first) else { return nil }
        guard fields.count == 2 else { return (whole, 0) }
        guard number(fields[1]) != nil else { return nil }
        let digits = (fields[1] + "000").prefix(3)
        return Int64(digits).map { (whole, $0) }
    }

    private static func number(_ text: Substring, _ range: ClosedRange<Int> = 0...999_999_999) -> Int? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let number = Int(text), range.contains(number)
        else { return nil }
        return number
    }
}
