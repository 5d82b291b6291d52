import BTCall
import JSONText

/// Reason why a request is refused.
struct WebError: Error, Sendable {
    let status: Int
    /// A cause that a program can distinguish: of ``BridgeError``, or of the server itself.
    let code: String
    /// The error's name on the bus; nil for an error from elsewhere.
    let name: String?
    let message: String
    /// Further fields of the answer.
    var headers: [(name: String, value: String)] = []

    init(
        _ status: Int, _ code: String, _ message: String, headers: [(name: String, value: String)] = []
    ) {
        self.status = status
        self.code = code
        name = nil
        self.message = message
        self.headers = headers
    }

    init(_ error: BridgeError) {
        status = Self.status(of: error.code)
        code = error.code.description
        name = error.name
        message = error.message
    }

    /// The error as one object, for WebSockets.
    var object: JSON { ["code": .string(code), "name": JSON(name), "message": .string(message)] }

    /// The body of an answer.
    var json: JSON { ["error": object] }

    private static func status(of code: BridgeError.Code) -> Int {
        switch code {
        case .invalidArgument: 400
        case .accessDenied: 403
        case .noSuchCall, .noSuchProvider: 404
        case .wrongState, .notStarted, .callsActive, .unavailable, .busy, .filtered, .notProvider, .notConfigured,
            .limitExceeded:
            409
        case .notSupported: 501
        case .notRunning, .noBus: 503
        case .timedOut: 504
        // A cause that a later library may add, too.
        default: 502
        }
    }
}
