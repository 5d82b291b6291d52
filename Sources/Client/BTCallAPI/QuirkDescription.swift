package import DBus

/// A row of the quirks database: an element of `rows` in `Manager1.ListQuirks`, and of `applied` and `near` in
/// `Manager1.ExplainQuirks`.
package struct QuirkDescription: Hashable, Sendable {
    package enum Origin: String, Hashable, Sendable, CaseIterable {
        case shipped, admin
    }

    package enum State: String, Hashable, Sendable, CaseIterable {
        case active, expired, off
    }

    package var name: String
    package var origin: Origin
    package var line: Int
    package var state: State
    /// For example `2027-06-30`; empty: never.
    package var expires: String
    /// As in the file, for example `address = 00:14:09`.
    package var conditions: [String]
    package var effects: [String]
    package var advice: String
    package var reference: String
    package var reason: String
    /// Conditions that hold, in words; only for a row that was matched against a headset.
    package var because: [String]
    /// Reasons why the row does not apply.
    package var obstacles: [String]

    package init(
        name: String, origin: Origin, line: Int, state: State = .active, expires: String = "", conditions: [String],
        effects: [String], advice: String = "", reference: String, reason: String, because: [String] = [],
        obstacles: [String] = []
    ) {
        self.name = name
        self.origin = origin
        self.line = line
        self.state = state
        self.expires = expires
        self.conditions = conditions
        self.effects = effects
        self.advice = advice
        self.reference = reference
        self.reason = reason
        self.because = because
        self.obstacles = obstacles
    }

    package init(_ fields: Fields) throws(APIError) {
        name = try fields.string("name")
        origin = try fields.word("origin", of: Origin.self)
        line = try fields.integer("line")
        state = try fields.word("state", of: State.self)
        expires = try fields.optionalString("expires") ?? ""
        conditions = try fields.strings("conditions")
        effects = try fields.strings("effects")
        advice = try fields.optionalString("advice") ?? ""
        reference = try fields.optionalString("reference") ?? ""
        reason = try fields.optionalString("reason") ?? ""
        because = try fields.strings("because")
        obstacles = try fields.strings("obstacles")
    }

    /// The entries of one `a{sv}`, without empty ones.
    package var fields: [String: Value] {
        var fields = [String: Value](present: [
            "name": .string(name), "origin": .string(origin.rawValue), "line": .uint32(UInt32(clamping: line)),
            "state": .string(state.rawValue), "expires": .text(expires), "conditions": .strings(conditions),
            "effects": .strings(effects), "advice": .text(advice), "reference": .text(reference),
            "reason": .text(reason),
        ])
        if !because.isEmpty { fields["because"] = .strings(because) }
        if !obstacles.isEmpty { fields["obstacles"] = .strings(obstacles) }
        return fields
    }
}

/// The answer of `Manager1.ListQuirks`.
package struct QuirksDescription: Hashable, Sendable {
    package struct File: Hashable, Sendable {
        package var path: String
        package var origin: QuirkDescription.Origin
        package var version: String
        package var rows: Int

        package init(path: String, origin: QuirkDescription.Origin, version: String = "", rows: Int) {
            self.path = path
            self.origin = origin
            self.version = version
            self.rows = rows
        }
    }

    package var files: [File]
    package var rows: [QuirkDescription]
    /// Names that are switched off and do not exist.
    package var unknown: [String]

    package init(files: [File] = [], rows: [QuirkDescription] = [], unknown: [String] = []) {
        self.files = files
        self.rows = rows
        self.unknown = unknown
    }

    package init(_ fields: Fields) throws(APIError) {
        files = []
        for element in try fields.dictionaries("files") {
            files.append(
                File(
                    path: try element.string("path"),
                    origin: try element.word("origin", of: QuirkDescription.Origin.self),
                    version: try element.optionalString("version") ?? "", rows: try element.integer("rows")))
        }
        rows = []
        for element in try fields.dictionaries("rows") { rows.append(try QuirkDescription(element)) }
        unknown = try fields.strings("unknown")
    }

    package var fields: [String: Value] {
        [
            "files": .vardicts(
                files.map { file in
                    [String: Value](present: [
                        "path": .string(file.path), "origin": .string(file.origin.rawValue),
                        "version": .text(file.version), "rows": .uint32(UInt32(clamping: file.rows)),
                    ])
                }),
            "rows": .vardicts(rows.map(\.fields)), "unknown": .strings(unknown),
        ]
    }
}
