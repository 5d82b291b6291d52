import Glibc

/// A time of day, to the millisecond.
struct WallClock: Hashable, Sendable {
    /// Since 1970-01-01 00:00 UTC.
    let milliseconds: Int64

    init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    static var now: WallClock {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return WallClock(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }

    /// ISO 8601 in UTC: `2025-03-01T17:04:05.678Z`.
    var iso8601: String {
        let parts = broken(gmtime_r)
        let date = "\(parts.tm_year + 1900)-\(padded(parts.tm_mon + 1, 2))-\(padded(parts.tm_mday, 2))"
        return date + "T" + clock(parts) + "Z"
    }

    /// The local time of day: `17:04:05.678`.
    var timeOfDay: String { clock(broken(localtime_r)) }

    private func broken(
        _ convert: (UnsafePointer<time_t>, UnsafeMutablePointer<tm>) -> UnsafeMutablePointer<tm>?
    ) -> tm {
        var seconds = time_t(milliseconds / 1000)
        var parts = tm()
        _ = convert(&seconds, &parts)
        return parts
    }

    private func clock(_ parts: tm) -> String {
        "\(padded(parts.tm_hour, 2)):\(padded(parts.tm_min, 2)):\(padded(parts.tm_sec, 2))"
            + ".\(padded(Int32(milliseconds % 1000), 3))"
    }

    private func padded(_ number: Int32, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
