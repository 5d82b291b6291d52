import BluetoothTypes

/// Times of recent occurrences, the latest last; as many as can matter.
struct RecentTimes: Hashable, Sendable {
    /// A millisecond doubled this often exceeds every configurable limit.
    private static let capacity = 32

    private(set) var times: [Instant] = []

    var latest: Instant? { times.last }

    /// Number of occurrences less than `window` ago.
    func count(within window: Duration, of now: Instant) -> Int {
        guard let latest = times.last else { return 0 }
        let start = now.advanced(by: .zero - window)
        guard latest > start else { return 0 }
        var count = 1
        while count < times.count, times[times.count - 1 - count] > start { count += 1 }
        return count
    }

    /// Whether any occurred less than `window` ago.
    func isRecent(within window: Duration, of now: Instant) -> Bool {
        times.last.map { $0 > now.advanced(by: .zero - window) } ?? false
    }

    /// Time of the `count`-th latest occurrence; nil when there are fewer.
    func latest(_ count: Int) -> Instant? {
        times.count >= count ? times[times.count - count] : nil
    }

    mutating func append(_ time: Instant) {
        if times.count == Self.capacity { times.removeFirst() }
        times.append(time)
    }
}
