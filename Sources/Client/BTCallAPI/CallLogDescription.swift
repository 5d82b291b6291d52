package import DBus

/// A call that has ended, as listed by `Calls1.Log`.
package struct CallLogDescription: Hashable, Sendable {
    /// Reason of a reported call that did not ring; other reasons are those of `Call1.StateChanged`.
    package static let filtered = "filtered"

    /// The call's UUID; nil for a call that was refused.
    package var id: String?
    package var direction: CallDescription.Direction
    /// Nil when it was withheld or unknown.
    package var number: String?
    package var name: String?
    /// The name of the application that owned it.
    package var provider: String
    /// Milliseconds since 1970-01-01 00:00 UTC.
    package var began: Int64
    /// Nil for a call that was not answered.
    package var answered: Int64?
    package var ended: Int64
    /// A reason of `Call1.StateChanged`, or `filtered`.
    package var reason: String
    /// The device that carried it last; nil when none did.
    package var device: String?

    package init(
        id: String?, direction: CallDescription.Direction, number: String?, name: String?, provider: String,
        began: Int64, answered: Int64?, ended: Int64, reason: String, device: String?
    ) {
        self.id = id
        self.direction = direction
        self.number = number
        self.name = name
        self.provider = provider
        self.began = began
        self.answered = answered
        self.ended = ended
        self.reason = reason
        self.device = device
    }

    /// Time from answer to end in milliseconds, 0 for a call that was not answered.
    package var durationMs: Int64 {
        guard let answered, answered < ended else { return 0 }
        let (duration, isTooLong) = ended.subtractingReportingOverflow(answered)
        return isTooLong ? .max : duration
    }

    /// Whether somebody called and nobody here caused the call's end.
    package var isMissed: Bool {
        guard direction == .incoming, answered == nil else { return false }
        return !["rejected", "localHangUp", "answeredElsewhere", "transferred"].contains(reason)
    }

    package init(_ fields: Fields) throws(APIError) {
        id = try fields.optionalString("id")?.nonEmpty
        direction = try fields.word("direction", of: CallDescription.Direction.self)
        number = try fields.optionalString("number")?.nonEmpty
        name = try fields.optionalString("name")?.nonEmpty
        provider = try fields.optionalString("provider") ?? ""
        began = try fields.integer("began")
        let answered: Int64 = try fields.optionalInteger("answered") ?? 0
        self.answered = answered == 0 ? nil : answered
        ended = try fields.integer("ended")
        reason = try fields.string("reason")
        device = try fields.optionalString("device")?.nonEmpty
    }

    /// The fields without the other party's identity.
    package var publicFields: [String: Value] { fields.filter { !["number", "name"].contains($0.key) } }

    package var fields: [String: Value] {
        [String: Value](present: [
            "id": .text(id), "direction": .string(direction.rawValue), "number": .text(number),
            "name": .text(name), "provider": .string(provider), "began": .uint64(UInt64(clamping: began)),
            "answered": answered.map { .uint64(UInt64(clamping: $0)) }, "ended": .uint64(UInt64(clamping: ended)),
            "durationMs": .uint64(UInt64(clamping: durationMs)), "reason": .string(reason),
            "missed": .bool(isMissed), "device": .text(device),
        ])
    }
}
