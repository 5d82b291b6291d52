package import Logging
internal import Synchronization

/// The level below which nothing is logged, for every logger without a level of its own; can be changed while the program
/// runs.
package enum LogThreshold {
    private static let stored = Atomic<Int>(index(of: .info))

    package static var level: Logger.Level {
        get { Logger.Level.allCases[stored.load(ordering: .relaxed)] }
        set { stored.store(index(of: newValue), ordering: .relaxed) }
    }

    private static func index(of level: Logger.Level) -> Int { Logger.Level.allCases.firstIndex(of: level) ?? 0 }
}
