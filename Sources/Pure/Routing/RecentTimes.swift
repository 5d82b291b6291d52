import BluetoothTypes

/// When something happened, the latest last; as many times as can make a difference.
struct RecentTimes: Hashable, Sendable {
    /// Doubling a millisecond as often as this passes every limit that can be configured.
    private static let capacity = 32

    private(set) var times: [Instant] = []

    var latest: Instant? { times.last }

    /// How many happened less than `window` ago.
    func count(within window: Duration, of now: Instant) -> Int {
        guard let latest = times.last else { return 0 }
        let start = now.advanced(by: .zero - window)
        guard latest > start else { return 0 }
        var count = 1
        while count < times.count, times[times.count - 1 - count] > start { count += 1 }
        return count
    }

    /// Whether any happened less than `window` ago.
    func isRecent(within window: Duration, of now: Instant) -> Bool {
        times.last.map { $0 > now.advanced(by: .zero - window) } ?? false
    }

    /// The time of the last but `count` - 1; nil when there are fewer.
    func latest(_ count: Int) -> Instant? {
        times.count >= count ? times[times.count - count] : nil
    }

    mutating func append(_ time: Instant) {
        if times.count == Self.capacity { times.removeFirst() }
        times.append(time)
    }
}
