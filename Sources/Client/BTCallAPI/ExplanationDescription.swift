package import DBus

/// The answer of `Router1.Explain`: the evaluation of the policy's levels that led to the present route.
package struct ExplanationDescription: Hashable, Sendable {
    package struct Level: Hashable, Sendable {
        /// The level's name: `preferred`, `default`, …
        package var name: String
        /// Device word that the level asks for, or empty.
        package var spec: String
        /// Device that the level would select, or empty.
        package var candidate: String
        /// The verdict in words.
        package var verdict: String
        package var isEligible: Bool
        /// The measured value and its limit, both with their unit; empty when the verdict has no number.
        package var value: String
        package var limit: String

        package init(
            name: String, spec: String = "", candidate: String = "", verdict: String = "", isEligible: Bool = false,
            value: String = "", limit: String = ""
        ) {
            self.name = name
            self.spec = spec
            self.candidate = candidate
            self.verdict = verdict
            self.isEligible = isEligible
            self.value = value
            self.limit = limit
        }
    }

    /// The next step that the policy takes without further input.
    package struct Next: Hashable, Sendable {
        /// `mayTakeCall`, `attempt`, `timeOut`, `standIn`, `takeCall`, `closeSilentLink`, `restoreMedia` or `believeJack`.
        package var action: String
        /// The device concerned, or empty.
        package var device: String
        /// Time until then in milliseconds; nil when another link has to close first.
        package var remaining: Int64?

        package init(action: String, device: String, remaining: Int64?) {
            self.action = action
            self.device = device
            self.remaining = remaining
        }
    }

    package var chosen: DeviceWord
    /// The level that selected the device.
    package var level: String
    package var reason: String
    package var levels: [Level]
    /// Nil when nothing is due.
    package var next: Next?
    /// The lines that `btcall why` prints.
    package var text: [String]

    package init(
        chosen: DeviceWord, level: String, reason: String, levels: [Level], next: Next? = nil, text: [String]
    ) {
        self.chosen = chosen
        self.level = level
        self.reason = reason
        self.levels = levels
        self.next = next
        self.text = text
    }

    package init(_ fields: Fields) throws(APIError) {
        chosen = try fields.device("chosen")
        level = try fields.optionalString("level") ?? ""
        reason = try fields.optionalString("reason") ?? ""
        levels = []
        for element in try fields.dictionaries("levels") {
            levels.append(try Level(element))
        }
        next = try fields.values["next"].map { (value) throws(APIError) in
            try Next(Fields(value, of: "next in \(fields.subject)"))
        }
        text = try fields.strings("text")
    }

    package var fields: [String: Value] {
        var fields = [String: Value](present: [
            "chosen": .string(chosen.description),
            "level": .text(level),
            "reason": .text(reason),
            "levels": .vardicts(levels.map(\.fields)),
            "text": .strings(text),
        ])
        if let next { fields["next"] = .vardict(next.fields) }
        return fields
    }
}

extension ExplanationDescription.Next {
    package init(_ fields: Fields) throws(APIError) {
        action = try fields.string("action")
        device = try fields.optionalString("device") ?? ""
        remaining = try fields.optionalInteger("remaining")
    }

    package var fields: [String: Value] {
        [String: Value](present: [
            "action": .string(action), "device": .text(device), "remaining": remaining.map { .int64($0) },
        ])
    }
}

extension ExplanationDescription.Level {
    package init(_ fields: Fields) throws(APIError) {
        name = try fields.string("name")
        spec = try fields.optionalString("spec") ?? ""
        candidate = try fields.optionalString("candidate") ?? ""
        verdict = try fields.optionalString("verdict") ?? ""
        isEligible = try fields.optionalBool("eligible") ?? false
        value = try fields.optionalString("value") ?? ""
        limit = try fields.optionalString("limit") ?? ""
    }

    package var fields: [String: Value] {
        [String: Value](present: [
            "name": .string(name), "spec": .text(spec), "candidate": .text(candidate), "verdict": .text(verdict),
            "eligible": .bool(isEligible), "value": .text(value), "limit": .text(limit),
        ])
    }
}
