import BluetoothTypes

/// Requests of each peer: so many a second, and three seconds' worth at once.
struct RateLimit: Sendable {
    private static let burst = Duration.seconds(3)
    /// Peers that have asked lately. Beyond that the one that has asked the longest ago is forgotten.
    private static let mostPeers = 256

    private let interval: Duration
    /// When each peer has paid for its requests, at one request an interval.
    private var paid: [WebPeer: Instant] = [:]

    init(perSecond: Int) {
        interval = .nanoseconds(1_000_000_000 / max(1, perSecond))
    }

    /// - Returns: whole seconds to wait; 0 accepts the request.
    mutating func request(of peer: WebPeer, at now: Instant) -> Int {
        let before = paid[peer].map { max($0, now) } ?? now
        let after = before.advanced(by: interval)
        let wait = now.duration(to: after) - Self.burst
        guard wait <= .zero else { return Int(wait.components.seconds) + 1 }
        if paid[peer] == nil, paid.count >= Self.mostPeers, let oldest = paid.min(by: { $0.value < $1.value }) {
            paid[oldest.key] = nil
        }
        paid[peer] = after
        return 0
    }
}
