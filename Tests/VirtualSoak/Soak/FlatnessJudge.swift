/// Decides whether something grows: from what was measured in quiet moments, one value for each of them.
///
/// The first quarter is for what fills up once (rings, logs, the allocator's arenas). Of the second and of the last the
/// least value counts: what is only in use for a while is no leak.
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
    ///   - bound: how much more than in the second quarter there may be in the last.
    static func judge(_ name: String, _ values: [Int], bound: Int) throws(TooFew) -> Finding {
        let quarter = values.count / 4
        guard quarter > 0, let second = values[quarter..<2 * quarter].min(), let last = values.suffix(quarter).min()
        else {
            throw TooFew(count: values.count)
        }
        return Finding(name: name, second: second, last: last, bound: bound)
    }
}
