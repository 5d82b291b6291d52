/// Decides whether a quantity grows, from one measurement in each quiet moment.
///
/// The first quarter allows for caches that fill once (rings, logs, the allocator's arenas). The minimum of the second
/// quarter is compared with that of the last: temporary use is not a leak.
struct FlatnessJudge: Sendable {
    struct Finding: Equatable, Sendable {
        let name: String
        let second: Int
        let last: Int
        let bound: Int

        var isFlat: Bool { last - second <= bound }
    }

    struct TooFew: Error, CustomStringConvertible {
        let count: Int
        var description: String {
            "\(count) quiet moments are too few to judge: 4 at least, one for each quarter"
        }
    }

    /// - Parameters:
    ///   - values: in order of time.
    ///   - bound: permitted growth from the second quarter to the last.
    static func judge(_ name: String, _ values: [Int], bound: Int) throws(TooFew) -> Finding {
        let quarter = values.count / 4
        guard quarter > 0, let second = values[quarter..<2 * quarter].min(), let last = values.suffix(quarter).min()
        else {
            throw TooFew(count: values.count)
        }
        return Finding(name: name, second: second, last: last, bound: bound)
    }
}
