import CommandTestSupport
import Foundation

/// The tables of the pages `docs/reference/JSON*.md`: the object printed by each verb, and the fields of each object.
struct JSONPage {
    let text: String
    /// Output of each verb, as a type on the page.
    private(set) var verbs: [String: String] = [:]
    private(set) var shapes: [String: [(name: String, type: String)]] = [:]
    private(set) var events: [String: [(name: String, type: String)]] = [:]

    init() throws {
        let root = URL(filePath: #filePath).appending(path: "../../../..").standardized
        // The events of JSON.md refer to the objects of the other two.
        text = try ["JSONObjects", "JSONReports", "JSON"].map { name in
            try String(contentsOf: root.appending(path: "docs/reference/\(name).md"), encoding: .utf8)
        }.joined(separator: "\n")
        var section = ""
        for line in text.split(separator: "\n") {
            if line.hasPrefix("#") { section = line.drop { $0 == "#" || $0 == " " }.description }
            let cells = line.split(separator: "|", omittingEmptySubsequences: false).map { Self.trimmed($0) }
            guard line.hasPrefix("| `"), cells.count >= 4 else { continue }
            switch section {
            case "Types": break
            case "Verbs": for verb in Self.words(cells[1]) { verbs[verb] = cells[2] }
            case "Events": for event in Self.words(cells[1]) { events[event] = fields(of: cells[2]) }
            default: shapes[section, default: []].append((Self.words(cells[1])[0], cells[2]))
            }
        }
    }

    private static func trimmed(_ text: Substring) -> String {
        text.trimmingCharacters(in: .whitespaces)
    }

    /// The words between grave accents.
    private static func words(_ cell: String) -> [String] {
        let parts = cell.split(separator: "`", omittingEmptySubsequences: false)
        return parts.enumerated().filter { $0.offset % 2 == 1 }.map { String($0.element) }
    }

    private func fields(of cell: String) -> [(name: String, type: String)] {
        if cell == "those of Call" { return shapes["Call"] ?? [] }
        return cell.split(separator: ",").map { part in
            let words = part.split(separator: " ")
            return (String(words[0].filter { $0 != "`" }), String(words[1]))
        }
    }

    // MARK: Checking

    func mistakes(in value: Any, _ type: String, at place: String) -> [String] {
        if type.hasSuffix("?") { return value is NSNull ? [] : mistakes(in: value, String(type.dropLast()), at: place) }
        if type.hasPrefix("[") {
            guard let list = value as? [Any] else { return ["\(place): \(value) is no list"] }
            let element = String(type.dropFirst().dropLast())
            return list.enumerated().flatMap { mistakes(in: $0.element, element, at: "\(place)[\($0.offset)]") }
        }
        if let fields = shapes[type] {
            guard let object = value as? [String: Any] else { return ["\(place): \(value) is no \(type)"] }
            return mistakes(in: object, fields: fields, at: place)
        }
        return Self.isValue(value, type) ? [] : ["\(place): \(value) is no \(type)"]
    }

    func mistakes(in object: [String: Any], fields: [(name: String, type: String)], at place: String) -> [String] {
        let names = Set(fields.map(\.name))
        let unknown = object.keys.filter { !names.contains($0) }.sorted().map { "\(place): \($0) is not on the page" }
        return unknown
            + fields.flatMap { name, type in
                object[name].map { mistakes(in: $0, type, at: "\(place).\(name)") } ?? ["\(place): \(name) is missing"]
            }
    }

    private static func isValue(_ value: Any, _ type: String) -> Bool {
        let text = value as? String
        switch type {
        case "boolean": return isBoolean(value)
        case "integer": return !isBoolean(value) && (value as? Double).map { $0 == $0.rounded() } == true
        case "number": return !isBoolean(value) && value is Double
        case "string": return text != nil && text != ""
        case "time": return text?.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/) != nil
        case "call": return text.flatMap { UUID(uuidString: $0) } != nil
        case "address": return text?.wholeMatch(of: /([0-9A-F]{2}:){5}[0-9A-F]{2}/) != nil
        case "device":
            return text?.wholeMatch(
                of: /speakerphone|wiredHeadset|earpiece|bluetooth(:([0-9A-F]{2}:){5}[0-9A-F]{2})?/) != nil
        default: return false
        }
    }

    private static func isBoolean(_ value: Any) -> Bool {
        (value as? NSNumber).map { $0.objCType.pointee == 99 } == true
    }
}
