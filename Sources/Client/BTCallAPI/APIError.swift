package import DBus

/// A refusal or failure answered by the daemon, `org.btcall.Error.*` on the bus.
///
/// The message says what was wrong and what is accepted; programs show it to people unchanged.
package struct APIError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A cause that a caller can distinguish. The raw value is the last part of the error's name on the bus.
    package enum Code: String, Hashable, Sendable, CaseIterable {
        /// The router is stopped: `Router1.Start` first.
        case notStarted = "NotStarted"
        /// The device is not available, or does not fit the call.
        case unavailable = "Unavailable"
        /// A word, number or option is not accepted.
        case invalidArgument = "InvalidArgument"
        case noSuchCall = "NoSuchCall"
        /// No provider is registered under this name, or none supports the request.
        case noSuchProvider = "NoSuchProvider"
        /// The caller is not the application that owns the call.
        case notProvider = "NotProvider"
        /// Not possible in the present state of the call or the daemon.
        case wrongState = "WrongState"
        case notSupported = "NotSupported"
        /// Possible only while there is no call.
        case callsActive = "CallsActive"
        /// A rule of the configuration denies it to the caller.
        case accessDenied = "AccessDenied"
        /// The configuration names nothing to use for the request.
        case notConfigured = "NotConfigured"
        /// The provider answered the request with an error.
        case providerFailed = "ProviderFailed"
        /// Do not disturb is on: the reported call is refused.
        case filtered = "Filtered"
        /// A call is up, and the configuration refuses a second one.
        case busy = "Busy"
        /// As many exist as may, for the caller or in all.
        case limitExceeded = "LimitExceeded"
        /// The provider did not answer in time.
        case timedOut = "TimedOut"
        /// A mistake in the daemon.
        case fault = "Fault"
    }

    /// Prefix of every error name on the bus.
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
        // A newer daemon may answer with a code unknown here: keep its message.
        code = Code(rawValue: String(error.name.dropFirst(Self.namePrefix.count))) ?? .fault
        message = error.message
    }
}
