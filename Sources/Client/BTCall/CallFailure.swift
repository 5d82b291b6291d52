/// Why a call came to nothing that nobody wanted to end: the reasons of ``Call/EndReason`` that are failures.
public enum CallFailure: String, Error, Hashable, Sendable, CaseIterable {
    case busy, notFound, timedOut, error, providerGone

    /// Nil for an end that somebody wanted.
    public init?(_ reason: Call.EndReason) {
        self.init(rawValue: reason.rawValue)
    }

    /// - Parameter reason: as ``BridgeEvent/callStateChanged(_:_:reason:)`` has it.
    public init?(reason: String?) {
        guard let reason else { return nil }
        self.init(rawValue: reason)
    }
}

/// Why no call was begun.
public struct DialFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// What a program can tell apart. More may be added.
    public struct Cause: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        /// Nobody can dial, or not in the way that was asked for.
        public static let noProvider = Cause(description: "noProvider")
        /// The application refused; the message is its own.
        public static let refused = Cause(description: "refused")
        /// The application did not answer within five seconds.
        public static let timedOut = Cause(description: "timedOut")
        /// No more calls fit, the one that is up cannot be held, or one is being dialled.
        public static let noRoom = Cause(description: "noRoom")
        /// The call ended before it was begun.
        public static let canceled = Cause(description: "canceled")
        /// The daemon could not be asked; the underlying error says why.
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
    /// As ``place(_:audio:video:provider:)``, with the failures that a program can tell apart.
    ///
    /// That the call comes to nothing later is its end: ``CallFailure/init(reason:)``.
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
