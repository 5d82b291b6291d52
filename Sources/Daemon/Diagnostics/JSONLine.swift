import JSONText

/// An object of JSON on one line, its members in the order in which they are added.
package struct JSONLine {
    private var members = ""

    package init() {}

    package var text: String { "{" + members + "}" }

    package mutating func add(_ name: String, _ value: String?) {
        begin(name)
        if let value { JSON.write(value, to: &members) } else { members += "null" }
    }

    package mutating func add(_ name: String, _ value: (some BinaryInteger)?) {
        begin(name)
        members += value.map { String($0) } ?? "null"
    }

    package mutating func add(_ name: String, _ value: Double) {
        begin(name)
        members += value.isFinite ? String(value) : "null"
    }

    package mutating func add(_ name: String, _ value: JSONLine?) {
        begin(name)
        members += value?.text ?? "null"
    }

    package mutating func add(_ name: String, _ values: [JSONLine]) {
        begin(name)
        members += "[" + values.map(\.text).joined(separator: ",") + "]"
    }

    private mutating func begin(_ name: String) {
        if !members.isEmpty { members += "," }
        JSON.write(name, to: &members)
        members += ":"
    }
}
