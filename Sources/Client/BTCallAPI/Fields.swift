package import DBus
import Spelling

/// Reads the entries of an `a{sv}` by name and type.
///
/// Every read either returns the requested type or throws ``APIError/Code/invalidArgument`` naming the entry, the expected
/// type and the received value. Entries that are not read are ignored: within version 1 the daemon may add entries to its
/// answers. Arguments of programs are read with the list of accepted entries, and every other entry is refused.
package struct Fields {
    /// The dictionary's name, for messages: `Devices`, `RegisterProvider options`.
    package let subject: String
    package let values: [String: Value]

    package init(_ values: [String: Value], of subject: String) {
        self.values = values
        self.subject = subject
    }

    /// - Parameter value: an `a{sv}`, in a variant or not.
    package init(_ value: Value, of subject: String) throws(APIError) {
        guard let values = value.vardictValue else {
            throw APIError(.invalidArgument, "\(subject) has to be of type a{sv}, not \(value.typeSignature)")
        }
        self.init(values, of: subject)
    }

    /// Reads a dictionary argument of a daemon's method.
    ///
    /// - Throws: `.invalidArgument` for an entry that the method does not accept, listing the accepted ones, and for a value
    ///   of another type.
    package init(_ value: Value, _ accepted: DictionaryArgument) throws(APIError) {
        try self.init(value, of: accepted.subject)
        try check(accepted.entries)
    }

    /// Refuses every entry that is not on the list, and every value of another type.
    package func check(_ accepted: [EntryType]) throws(APIError) {
        let unknown = values.keys.filter { name in !accepted.contains { $0.name == name } }.sorted()
        if !unknown.isEmpty { throw refusal(of: unknown, accepted.map(\.name)) }
        for entry in accepted {
            guard let value = values[entry.name], !entry.accepts(value) else { continue }
            throw wrongType(entry.name, entry.typeName, value)
        }
    }

    private func refusal(of unknown: [String], _ accepted: [String]) -> APIError {
        // A program may send any number of entries, of any length.
        let shown = unknown.prefix(3).map { name in
            let isLong = name.utf8.count > TextLimit.word.rawValue
            let word = isLong ? String(decoding: name.utf8.prefix(TextLimit.word.rawValue), as: UTF8.self) : name
            let question = Suggestion.question(for: word, among: accepted).map { " (\($0))" } ?? ""
            return "\"\(word)\(isLong ? "…" : "")\"" + question
        }
        let names = accepted.isEmpty ? "no entry" : accepted.joined(separator: ", ")
        let more = unknown.count - shown.count
        return APIError(
            .invalidArgument,
            "unknown in \(subject): \(shown.joined(separator: ", "))\(more > 0 ? " and \(more) more" : ""); accepted: \(names)"
        )
    }

    package func string(_ name: String) throws(APIError) -> String { try require(name, optionalString(name), "s") }
    package func bool(_ name: String) throws(APIError) -> Bool { try require(name, optionalBool(name), "b") }

    /// - Returns: any integer type of the bus, as long as the number fits.
    package func integer<Number: FixedWidthInteger>(_ name: String, as type: Number.Type = Number.self)
        throws(APIError) -> Number
    {
        try require(name, optionalInteger(name), "integer")
    }

    package func optionalString(_ name: String) throws(APIError) -> String? {
        try optional(name, "s") { $0.stringValue }
    }

    /// The same for a string that the daemon keeps.
    package func optionalString(_ name: String, _ limit: TextLimit) throws(APIError) -> String? {
        guard let text = try optionalString(name) else { return nil }
        return try limit.check(text, "\(name) in \(subject)")
    }

    package func optionalBool(_ name: String) throws(APIError) -> Bool? {
        try optional(name, "b") { $0.boolValue }
    }

    package func optionalDouble(_ name: String) throws(APIError) -> Double? {
        try optional(name, "d") { $0.doubleValue }
    }

    package func optionalInteger<Number: FixedWidthInteger>(_ name: String, as type: Number.Type = Number.self)
        throws(APIError) -> Number?
    {
        try optional(name, "integer") { value in
            if let wide = value.uint64Value { return Number(exactly: wide) }
            return value.integerValue.flatMap { Number(exactly: $0) }
        }
    }

    /// - Returns: the strings or object paths of an array; empty when there is no such entry.
    package func strings(_ name: String) throws(APIError) -> [String] {
        try optional(name, "as") { value in
            guard let elements = value.arrayValue else { return nil }
            let texts = elements.compactMap(\.stringValue)
            return texts.count == elements.count ? texts : nil
        } ?? []
    }

    /// - Returns: the paths of an array (`ao`); empty when there is no such entry.
    package func objectPaths(_ name: String) throws(APIError) -> [String] {
        try optional(name, "ao") { value in
            guard let elements = value.arrayValue else { return nil }
            let paths = elements.compactMap { element -> String? in
                guard case .objectPath(let path) = element else { return nil }
                return path
            }
            return paths.count == elements.count ? paths : nil
        } ?? []
    }

    /// - Returns: the numbers of an array; empty when there is no such entry.
    package func integers(_ name: String) throws(APIError) -> [Int] {
        try optional(name, "au") { value in
            guard let elements = value.arrayValue else { return nil }
            let numbers = elements.compactMap(\.integerValue)
            return numbers.count == elements.count ? numbers : nil
        } ?? []
    }

    /// - Returns: the dictionaries of an `aa{sv}`; empty when there is no such entry.
    package func dictionaries(_ name: String) throws(APIError) -> [Fields] {
        guard let value = values[name] else { return [] }
        guard let elements = value.arrayValue else { throw wrongType(name, "aa{sv}", value) }
        var fields: [Fields] = []
        for element in elements {
            fields.append(try Fields(element, of: "an element of \(name) in \(subject)"))
        }
        return fields
    }

    /// - Returns: the entries of an `a{sv}`; none when there is no such entry.
    package func dictionary(_ name: String) throws(APIError) -> Fields {
        try Fields(values[name] ?? .vardict([:]), of: "\(name) in \(subject)")
    }

    /// - Returns: a device word; nil when there is no such entry.
    package func optionalDevice(_ name: String) throws(APIError) -> DeviceWord? {
        guard let text = try optionalString(name, .word) else { return nil }
        guard let device = DeviceWord(text) else {
            throw APIError(
                .invalidArgument, "\(name) in \(subject) is \"\(text)\"; accepted: \(DeviceWord.accepted)")
        }
        return device
    }

    package func device(_ name: String) throws(APIError) -> DeviceWord { try require(name, optionalDevice(name), "s") }

    /// - Returns: the word of a closed list; nil when there is no such entry.
    package func optionalWord<Word: RawRepresentable<String> & CaseIterable>(_ name: String, of type: Word.Type)
        throws(APIError) -> Word?
    {
        guard let text = try optionalString(name, .word) else { return nil }
        guard let word = Word(rawValue: text) else {
            let accepted = Word.allCases.map(\.rawValue).joined(separator: ", ")
            throw APIError(.invalidArgument, "\(name) in \(subject) is \"\(text)\"; accepted: \(accepted)")
        }
        return word
    }

    package func word<Word: RawRepresentable<String> & CaseIterable>(_ name: String, of type: Word.Type)
        throws(APIError) -> Word
    {
        try require(name, optionalWord(name, of: type), "s")
    }

    private func optional<Result>(
        _ name: String, _ type: String, _ read: (Value) -> Result?
    ) throws(APIError) -> Result? {
        guard let value = values[name] else { return nil }
        guard let result = read(value) else { throw wrongType(name, type, value) }
        return result
    }

    private func require<Result>(_ name: String, _ result: Result?, _ type: String) throws(APIError) -> Result {
        guard let result else { throw APIError(.invalidArgument, "\(subject) has no \(name) (\(type))") }
        return result
    }

    private func wrongType(_ name: String, _ type: String, _ value: Value) -> APIError {
        APIError(.invalidArgument, "\(name) in \(subject) has to be of type \(type), not \(value.typeSignature)")
    }
}

extension [String: Value] {
    /// The entries that have a value: an unknown or missing value is absent on the bus.
    package init(present entries: [String: Value?]) { self = entries.compactMapValues { $0 } }
}

extension Value {
    /// Nil for an empty or missing string.
    package static func text(_ text: String?) -> Value? { text?.nonEmpty.map { .string($0) } }
    /// Nil for an unknown number.
    package static func number(_ number: Int?) -> Value? { number.map { .int32(Int32(clamping: $0)) } }
}

extension String {
    /// Nil for the empty string, which stands for "unknown" or "none" on the bus.
    package var nonEmpty: String? { isEmpty ? nil : self }
}
