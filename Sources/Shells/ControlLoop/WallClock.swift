internal import CBTCall
internal import Glibc

/// A time of day, to the millisecond (`CLOCK_REALTIME`). For people and files only: it jumps, so it is never used for
/// timing.
package struct WallClock: Hashable, Sendable {
    /// Since 1970-01-01 00:00 UTC.
    package let milliseconds: Int64

    package init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    package static var now: WallClock {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return WallClock(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }

    /// ISO 8601 in UTC: `2025-03-01T17:04:05.678Z`.
    package var iso8601: String {
        let parts = broken(gmtime_r)
        let date = "\(parts.tm_year + 1900)-\(padded(parts.tm_mon + 1, 2))-\(padded(parts.tm_mday, 2))"
        return date + "T" + clock(parts) + "Z"
    }

    /// Reads the form of ``iso8601``.
    package init?(iso8601 text: String) {
        let numbers = text.split { !("0"..."9").contains($0) }.compactMap { Int32($0) }
        guard text.utf8.count == 24, text.hasSuffix("Z"), numbers.count == 7 else { return nil }
        var parts = Parts(year: numbers[0], month: numbers[1], day: numbers[2])
        (parts.hour, parts.minute, parts.second) = (numbers[3], numbers[4], numbers[5])
        parts.milliseconds = Int64(numbers[6])
        self.init(universal: parts)
        guard iso8601 == text else { return nil }
    }

    /// The local time of day: `17:04:05.678`.
    package var timeOfDay: String { clock(broken(localtime_r)) }

    /// A date and a time of day in written form.
    package struct Parts: Hashable, Sendable {
        package var year: Int32
        package var month: Int32
        /// 0 is the last day of the month before.
        package var day: Int32
        package var hour: Int32 = 0
        package var minute: Int32 = 0
        package var second: Int32 = 0
        package var milliseconds: Int64 = 0

        package init(year: Int32, month: Int32, day: Int32) {
            self.year = year
            self.month = month
            self.day = day
        }

        fileprivate init(_ parts: tm, _ milliseconds: Int64) {
            self.init(year: parts.tm_year + 1900, month: parts.tm_mon + 1, day: parts.tm_mday)
            hour = parts.tm_hour
            minute = parts.tm_min
            second = parts.tm_sec
            self.milliseconds = milliseconds
        }

        fileprivate var broken: tm {
            var parts = tm()
            parts.tm_year = year - 1900
            parts.tm_mon = month - 1
            parts.tm_mday = day
            parts.tm_hour = hour
            parts.tm_min = minute
            parts.tm_sec = second
            // Leave it to the C library whether daylight saving time applies.
            parts.tm_isdst = -1
            return parts
        }
    }

    /// A time in UTC.
    package init(universal parts: Parts) {
        var broken = parts.broken
        milliseconds = Int64(timegm(&broken)) * 1000 + parts.milliseconds
    }

    /// A time on the clocks of the machine's time zone.
    package init(local parts: Parts) {
        var broken = parts.broken
        milliseconds = Int64(mktime(&broken)) * 1000 + parts.milliseconds
    }

    /// The time on the clocks of the machine's time zone.
    package var localParts: Parts { Parts(broken(localtime_r), fraction) }

    private func broken(
        _ convert: (UnsafePointer<time_t>, UnsafeMutablePointer<tm>) -> UnsafeMutablePointer<tm>?
    ) -> tm {
        var seconds = time_t(milliseconds / 1000 - (milliseconds % 1000 < 0 ? 1 : 0))
        var parts = tm()
        _ = convert(&seconds, &parts)
        return parts
    }

    private func clock(_ parts: tm) -> String {
        "\(padded(parts.tm_hour, 2)):\(padded(parts.tm_min, 2)):\(padded(parts.tm_sec, 2))"
            + ".\(padded(Int32(fraction), 3))"
    }

    private var fraction: Int64 {
        let rest = milliseconds % 1000
        return rest < 0 ? rest + 1000 : rest
    }

    private func padded(_ number: Int32, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
