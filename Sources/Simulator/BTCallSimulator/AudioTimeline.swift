/// The playback of one device on the common time line of a simulation: 16-bit mono, silence where it played nothing.
package struct AudioTimeline: Sendable {
    /// Sample rate in Hz.
    package let rate: Int
    package private(set) var samples: [Int16] = []

    package init(rate: Int) {
        self.rate = rate
    }

    /// Adds audio at the given time of the simulation.
    ///
    /// - Parameter nanoseconds: since the start of the simulation; never before the end of the present audio.
    mutating func append(_ block: [Int16], at nanoseconds: Int64) {
        let position = Int(nanoseconds * Int64(rate) / 1_000_000_000)
        if position > samples.count {
            samples.append(contentsOf: repeatElement(0, count: position - samples.count))
        }
        samples.append(contentsOf: block)
    }
}
