import BTCallAPI
import ControlLoop
import DBus

/// A call that has ended.
public struct LoggedCall: Hashable, Sendable {
    /// Id of the call; nil when the call was refused and never had one.
    public let id: Call.ID?
    public let direction: Call.Direction
    /// Nil when it was withheld or unknown; after a restart also unless the daemon's record of calls includes numbers.
    public let number: String?
    public let name: String?
    /// The application that owned it.
    public let provider: String
    /// Milliseconds since 1970-01-01 00:00 UTC.
    public let beganMs: Int64
    /// Nil for a call that was not answered.
    public let answeredMs: Int64?
    public let endedMs: Int64
    /// From answer to end; 0 for a call that was not answered.
    public let durationMs: Int64
    /// Raw value of a ``Call/EndReason``; `filtered` when do not disturb refused the call, `busy` when it was refused as a
    /// second call.
    public let reason: String
    /// Whether somebody called and nobody here caused the call's end.
    public let isMissed: Bool
    /// The device that carried it last, for example `bluetooth:AA:BB:CC:DD:EE:FF`; nil when none did.
    public let device: String?

    init(_ call: CallLogDescription) {
        id = call.id.map { Call.ID(text: $0) }
        direction =
            switch call.direction {
            case .incoming: .incoming
            case .outgoing: .outgoing
            }
        number = call.number
        name = call.name
        provider = call.provider
        beganMs = call.began
        answeredMs = call.answered
        endedMs = call.ended
        durationMs = call.durationMs
        reason = call.reason
        isMissed = call.isMissed
        device = call.device
    }
}

extension Calls {
    /// The calls that have ended, latest first; the daemon keeps the latest hundred.
    ///
    /// - Parameter maximum: largest number of calls to return, 0 or more; nil for all.
    /// - Throws: `.invalidArgument` for a negative number.
    public func log(maximum: Int? = nil) async throws(BridgeError) -> [LoggedCall] {
        guard maximum != 0 else { return [] }
        if let maximum, maximum < 0 {
            throw BridgeError(.invalidArgument, "maximum is \(maximum); accepted: 0 or more, or nil for all")
        }
        let reply = try await connection.request(
            BTCallPath.calls, BTCallName.Interface.calls, BTCallName.Calls.log,
            [.uint32(UInt32(clamping: maximum ?? 0))])
        return try decoding { () throws(APIError) in
            var calls: [LoggedCall] = []
            for fields in try Fields(["calls": reply.first ?? ""], of: "Log").dictionaries("calls") {
                calls.append(LoggedCall(try CallLogDescription(fields)))
            }
            return calls
        }
    }
}
