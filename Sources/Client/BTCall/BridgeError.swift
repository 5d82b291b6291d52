import BTCallAPI
import DBus

/// Reason why a request to the bridge failed.
///
/// The message says what is wrong and what to do, for a person to read. Every request can fail with ``Code/notRunning``,
/// ``Code/noBus``, ``Code/accessDenied``, ``Code/timedOut`` and ``Code/cancelled``; a function names only its own causes.
public struct BridgeError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A cause that a program can distinguish. More may be added.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        /// No btcalld on this bus.
        public static let notRunning = Code(description: "notRunning")
        /// The bus itself cannot be reached.
        public static let noBus = Code(description: "noBus")
        /// This user may not make the request.
        public static let accessDenied = Code(description: "accessDenied")
        /// The audio device manager is stopped.
        public static let notStarted = Code(description: "notStarted")
        /// The device is not available, or does not fit the call.
        public static let unavailable = Code(description: "unavailable")
        /// A value that btcalld does not accept; the message has the accepted ones.
        public static let invalidArgument = Code(description: "invalidArgument")
        /// The call does not exist, or has ended.
        public static let noSuchCall = Code(description: "noSuchCall")
        /// This program has not registered the application, or no application can dial the address.
        public static let noSuchProvider = Code(description: "noSuchProvider")
        /// The call belongs to another application.
        public static let notProvider = Code(description: "notProvider")
        /// The state of the call, or of btcalld, does not allow the request; or a limit is reached.
        public static let wrongState = Code(description: "wrongState")
        /// The application did not register the capability, or this btcalld does not know the request.
        public static let notSupported = Code(description: "notSupported")
        /// Possible only while there is no call.
        public static let callsActive = Code(description: "callsActive")
        /// The daemon's configuration names nothing to use for the request.
        public static let notConfigured = Code(description: "notConfigured")
        /// The application that owns the call refused.
        public static let providerFailed = Code(description: "providerFailed")
        /// Do not disturb is on: the reported call does not ring.
        public static let filtered = Code(description: "filtered")
        /// A call is up, and the configuration refuses a second one.
        public static let busy = Code(description: "busy")
        /// As many exist as may, for this program or in all: frame taps of btcall-video.
        public static let limitExceeded = Code(description: "limitExceeded")
        /// btcalld, or the application that it asked, did not reply in time.
        public static let timedOut = Code(description: "timedOut")
        /// The task was cancelled.
        public static let cancelled = Code(description: "cancelled")
        /// Anything else; the message describes it.
        public static let failed = Code(description: "failed")
    }

    public let code: Code
    /// The error's name on the bus, for example `org.btcall.Error.NotStarted`; nil for an error from elsewhere.
    public let name: String?
    public let message: String

    public init(_ code: Code, _ message: String) {
        self.init(code, message, name: nil)
    }

    init(_ code: Code, _ message: String, name: String?) {
        self.code = code
        self.message = message
        self.name = name
    }

    public var description: String { message }
}

extension BridgeError {
    /// Puts an error from the bus into words.
    init(_ error: BusError, on bus: BridgeBus) {
        if let error = APIError(error) {
            self.init(Code(error.code), error.message, name: error.name)
        } else if Self.isAbsence(error) {
            self.init(.notRunning, Self.notRunningMessage(on: bus), name: error.name)
        } else if error.hasName(BusError.Name.accessDenied) {
            self.init(
                .accessDenied, "not permitted: run it as root or as a member of the group btcall", name: error.name)
        } else if error.hasName(BusError.Name.invalidArguments) {
            self.init(.invalidArgument, error.message, name: error.name)
        } else if error.hasName(BusError.Name.noReply) {
            self.init(.timedOut, "btcalld did not answer in time: its log says what it is doing", name: error.name)
        } else if error.hasName(BusError.Name.disconnected) {
            self.init(.noBus, "the connection to \(bus.phrase) was closed", name: error.name)
        } else if error.hasName(BusError.Name.cancelled) {
            self.init(.cancelled, "cancelled", name: error.name)
        } else if error.hasName(BusError.Name.unknownObject) {
            // Only calls have their own object in a request.
            self.init(
                .noSuchCall, "there is no such call, or it has ended: ask for the calls there are", name: error.name)
        } else if error.hasName(BusError.Name.unknownMethod) || error.hasName(BusError.Name.unknownInterface) {
            self.init(
                .notSupported, "this btcalld does not know that request (\(error.message)): update it", name: error.name
            )
        } else {
            self.init(.failed, error.message.isEmpty ? error.name : error.message, name: error.name)
        }
    }

    /// The bus cannot be reached at all.
    init(connecting error: BusError, to bus: BridgeBus) {
        let cause = error.message.isEmpty ? error.name : error.message
        let remedy =
            switch bus {
            case .system: "is dbus-daemon running? `--bus` chooses another bus"
            case .session: "is DBUS_SESSION_BUS_ADDRESS set? `--bus` chooses another bus"
            case .address: "check the address"
            }
        self.init(.noBus, "cannot reach \(bus.phrase): \(cause): \(remedy)", name: error.name)
    }

    /// An answer without the shape that the interface promises.
    init(decoding error: APIError) {
        self.init(.failed, "btcalld answered something unexpected: \(error.message)")
    }

    static func notRunningMessage(on bus: BridgeBus) -> String {
        let remedy =
            switch bus {
            case .system: "systemctl start btcalld"
            case .session, .address: "btcalld --bus \(bus)"
            }
        return "btcalld is not running on \(bus.phrase): start it with `\(remedy)`"
    }

    /// btcalld does not run, or ended before it answered.
    var isDaemonAway: Bool { code == .notRunning || name == BusError.Name.noReply }

    /// Nobody owns the name, and the bus could not start the service.
    static func isAbsence(_ error: BusError) -> Bool {
        error.hasName(BusError.Name.serviceUnknown) || error.hasName(BusError.Name.nameHasNoOwner)
            || error.name.hasPrefix("org.freedesktop.DBus.Error.Spawn.")
            || error.name.hasPrefix("org.freedesktop.systemd1.")
    }
}

extension BridgeError.Code {
    private static let all = [
        notRunning, noBus, accessDenied, notStarted, unavailable, invalidArgument, noSuchCall, noSuchProvider,
        notProvider, wrongState, notSupported, callsActive, notConfigured, providerFailed, filtered, busy,
        limitExceeded, timedOut, cancelled, failed,
    ]

    /// The cause with this description; ``failed`` for any other word.
    init(word: String) { self = Self.all.first { $0.description == word } ?? .failed }

    init(_ code: APIError.Code) {
        switch code {
        case .notStarted: self = .notStarted
        case .unavailable: self = .unavailable
        case .invalidArgument: self = .invalidArgument
        case .noSuchCall: self = .noSuchCall
        case .noSuchProvider: self = .noSuchProvider
        case .notProvider: self = .notProvider
        case .wrongState: self = .wrongState
        case .notSupported: self = .notSupported
        case .callsActive: self = .callsActive
        case .accessDenied: self = .accessDenied
        case .notConfigured: self = .notConfigured
        case .providerFailed: self = .providerFailed
        case .filtered: self = .filtered
        case .busy: self = .busy
        case .limitExceeded: self = .limitExceeded
        case .timedOut: self = .timedOut
        case .fault: self = .failed
        }
    }
}
