/// How well a setting fits a request: less is better.
struct CaptureScore: Comparable {
    /// Compared from the first to the last.
    private let parts: [Int]

    init(_ format: PixelFormat, _ size: FrameSize, _ rate: FrameRate?, _ request: CaptureRequest) {
        let rank = format.rank ?? PixelFormat.preference.count
        let wanted = request.rate
        let distance = rate.flatMap { rate in wanted.map { rate.distance(to: $0) } } ?? 0
        switch request.resolution {
        case .automatic:
            let shape = Self.shape(size)
            switch (rate, wanted) {
            case (let rate?, let wanted?) where rate.holds(wanted):
                parts = [shape[0], 0, shape[1], rank, distance]
            case (let rate?, _): parts = [shape[0], 2, -rate.thousandths, shape[1], rank]
            // A rate that the driver does not name may hold.
            case (nil, _): parts = [shape[0], 1, shape[1], rank, 0]
            }
        case .size(let wanted):
            parts = [
                size.distance(to: wanted), -size.area, rate == nil ? 1 : 0, distance, -(rate?.thousandths ?? 0), rank,
            ]
        }
    }

    /// For `auto`: 4:3 and 16:9 up to 1280x720, the largest first; then other shapes; then larger sizes, the smallest first.
    static func shape(_ size: FrameSize) -> [Int] {
        guard size.isUpTo720 else { return [2, size.area] }
        return [size.isUsualShape ? 0 : 1, -size.area]
    }

    static func == (left: CaptureScore, right: CaptureScore) -> Bool { left.parts == right.parts }

    static func < (left: CaptureScore, right: CaptureScore) -> Bool {
        left.parts.lexicographicallyPrecedes(right.parts)
    }
}
