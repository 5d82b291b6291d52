/// The sample rates at which the bus of the audio thread can run, ascending: one to three, each found by its index.
///
/// Everything that converts to or from the bus has a converter for each of them, made by the control side, so that the audio
/// thread changes the rate without allocation.
package struct BusRates: BitwiseCopyable, ExpressibleByIntegerLiteral, Sendable {
    /// Number of rates.
    package let count: Int
    private let first: Int
    private let second: Int
    private let third: Int

    /// - Parameters:
    ///   - lowest: in Hz; the rate with the index 0.
    ///   - others: in Hz; those above `lowest` count, at most two.
    package init(_ lowest: Int, others: [Int] = []) {
        let higher = Set(others).filter { $0 > lowest }.sorted()
        first = lowest
        second = higher.first ?? lowest
        third = higher.dropFirst().first ?? second
        count = 1 + min(higher.count, 2)
    }

    package init(integerLiteral value: Int) { self.init(value) }

    /// The rate with an index, in Hz; beyond the last the last one.
    @_noLocks
    package func rate(_ index: Int) -> Int { index <= 0 ? first : index == 1 ? second : third }

    package var lowest: Int { @_noLocks get { first } }
    package var highest: Int { @_noLocks get { third } }

    /// `index`, limited to the rates that exist.
    @_noLocks
    package func bounded(_ index: Int) -> Int { index < 0 ? 0 : index < count ? index : count &- 1 }

    /// Index of the lowest rate of at least `wanted` Hz; without one, of the highest rate.
    @_noLocks
    package func index(for wanted: Int) -> Int {
        var index = 0
        while index < count &- 1 && rate(index) < wanted { index &+= 1 }
        return index
    }
}
