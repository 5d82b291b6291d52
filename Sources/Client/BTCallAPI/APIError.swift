package import DBus

/// A refusal or failure that the daemon answers with, `org.btcall.Error.*` on the bus.
///
/// The message names what is wrong and what would be right; it is shown to people as it is.
package struct APIError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What a caller can tell apart. The raw value is the last part of the error's name on the bus.
    package enum Code: String, Hashable, Sendable, CaseIterable {
        /// The router is stopped: `Router1.Start` first.
        case notStarted = "NotStarted"
        /// The device is not there, or does not fit the call.
        case unavailable = "Unavailable"
        /// A word, number or option is not one of those accepted.
        case invalidArgument = "InvalidArgument"
        case noSuchCall = "NoSuchCall"
        /// Nobody registered this provider, or none that could do what is asked.
        case noSuchProvider = "NoSuchProvider"
        /// The caller is not the application that owns the call.
        case notProvider = "NotProvider"
        /// Not possible in the state that the call or the daemon is in.
        case wrongState = "WrongState"
        case notSupported = "NotSupported"
        /// Only while there is no call.
        case callsActive = "CallsActive"
        /// A rule of the configuration keeps it from the caller.
        case accessDenied = "AccessDenied"
        /// The configuration names nothing that could be used for it.
        case notConfigured = "NotConfigured"
        /// The provider answered the request with an error.
        case providerFailed = "ProviderFailed"
        /// Do not disturb is on: the reported call is refused.
        case filtered = "Filtered"
        /// A call is up, and a second one is not wanted.
        case busy = "Busy"
        /// The provider did not answer in time.
        case timedOut = "TimedOut"
        /// A mistake of the daemon's own.
        case fault = "Fault"
    }

    /// What every error name on the bus begins with.
    package static let namePrefix = "org.btcall.Error."

    package let code: Code
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The error's name on the bus.
    package var name: String { Self.namePrefix + code.rawValue }

    package var description: String { message }

    /// The error as the bus carries it.
    package var busError: BusError { BusError(name: name, message: message) }

    /// Reads an error from the bus; nil when it is not one of the daemon's.
    package init?(_ error: BusError) {
        guard error.name.hasPrefix(Self.namePrefix) else { return nil }
        // A newer daemon may answer with a code that is not known here: still its error, with its own words.
        code = Code(rawValue: String(error.name.dropFirst(Self.namePrefix.count))) ?? .fault
        message = error.message
    }
}
