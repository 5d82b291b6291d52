/// What one device played, on the common time line of a simulation: 16-bit mono, silence where it played nothing.
package struct AudioTimeline: Sendable {
    /// Frames per second.
    package let rate: Int
    package private(set) var samples: [Int16] = []

    package init(rate: Int) {
        self.rate = rate
    }

    /// Puts audio where the clock of the simulation stands.
    ///
    /// - Parameter nanoseconds: since the start of the simulation; never before the end of what is there.
    mutating func append(_ block: [Int16], at nanoseconds: Int64) {
        let position = Int(nanoseconds * Int64(rate) / 1_000_000_000)
        if position > samples.count {
            samples.append(contentsOf: repeatElement(0, count: position - samples.count))
        }
        samples.append(contentsOf: block)
    }
}
