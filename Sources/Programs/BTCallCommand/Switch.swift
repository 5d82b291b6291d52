import ArgumentParser

/// on or off of a verb that sets something.
enum Switch: String, ExpressibleByArgument, CaseIterable, Sendable {
    case on, off
}
