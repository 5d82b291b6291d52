import ArgumentParser

/// on or off, as the argument of a verb.
enum Switch: String, ExpressibleByArgument, CaseIterable, Sendable {
    case on, off
}
