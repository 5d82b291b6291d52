/// Error in a configuration file or a command line, and what is accepted.
package struct SettingsError: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}
