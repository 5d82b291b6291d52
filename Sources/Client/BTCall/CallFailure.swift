/// Failure of a call that nobody ended on purpose: the reasons of ``Call/EndReason`` that are failures.
public enum CallFailure: String, Error, Hashable, Sendable, CaseIterable {
    case busy, notFound, timedOut, error, providerGone

    /// Returns nil for an end on purpose.
    public init?(_ reason: Call.EndReason) {
        self.init(rawValue: reason.rawValue)
    }

    /// - Parameter reason: the reason in ``BridgeEvent/callStateChanged(_:_:reason:)``.
    public init?(reason: String?) {
        guard let reason else { return nil }
        self.init(rawValue: reason)
    }
}

/// Reason why no call was begun.
public struct DialFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// A cause that a program can distinguish. More may be added.
    public struct Cause: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        /// No application can dial, or none in the requested way.
        public static let noProvider = Cause(description: "noProvider")
        /// The application refused; the message comes from it.
        public static let refused = Cause(description: "refused")
        /// The application did not answer within five seconds.
        public static let timedOut = Cause(description: "timedOut")
        /// No further call fits, the present call cannot be held, or another call is being dialled.
        public static let noRoom = Cause(description: "noRoom")
        /// The call ended before it was begun.
        public static let canceled = Cause(description: "canceled")
        /// The request did not reach the daemon; the underlying error says why.
        public static let bridge = Cause(description: "bridge")
    }

    public let cause: Cause
    public let underlying: BridgeError

    public var description: String { underlying.message }

    init(_ error: BridgeError) {
        underlying = error
        switch error.code {
        case .noSuchProvider: cause = .noProvider
        case .providerFailed: cause = .refused
        case .timedOut: cause = .timedOut
        case .wrongState: cause = .noRoom
        case .notSupported: cause = .noProvider
        case .noSuchCall: cause = .canceled
        default: cause = .bridge
        }
    }
}

extension Calls {
    /// Does the same as ``place(_:audio:video:provider:)``, with failures that a program can distinguish.
    ///
    /// A failure after this function has returned is an end of the call: ``CallFailure/init(reason:)``.
    public func dial(
        _ number: String, audio: CallMedia.Direction? = nil, video: CallMedia.Direction? = nil,
        provider: String? = nil
    ) async throws(DialFailure) -> Call.ID {
        do throws(BridgeError) {
            return try await place(number, audio: audio, video: video, provider: provider)
        } catch {
            throw DialFailure(error)
        }
    }
}
