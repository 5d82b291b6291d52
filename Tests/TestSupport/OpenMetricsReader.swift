/// Reads OpenMetrics text 1.0.0 strictly: refuses everything that the format does not allow.
package struct OpenMetricsReader {
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    package struct Family {
        package let name: String
        package let kind: String
        package var unit: String?
        package var help: String?
        package var samples: [(labels: [String: String], value: Double)] = []
    }

    package private(set) var families: [Family] = []

    package init(_ text: String) throws {
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { String($0) }
        guard lines.popLast() == "", lines.popLast() == "# EOF" else {
            throw Failure(description: "no # EOF at the end")
        }
        for line in lines { try read(line) }
        for family in families {
            try require(family.help != nil, "\(family.name) has no HELP")
            try require(!family.samples.isEmpty, "\(family.name) has no samples")
            let labels = family.samples.map { $0.labels }
            try require(Set(labels).count == labels.count, "\(family.name) has a sample twice")
        }
    }

    /// The only sample with these labels.
    package func value(_ name: String, _ labels: [String: String] = [:]) throws -> Double {
        guard let family = families.first(where: { $0.name == name }),
            let sample = family.samples.first(where: { $0.labels == labels })
        else { throw Failure(description: "there is no \(name) \(labels)") }
        return sample.value
    }

    private func require(_ isSo: Bool, _ what: String) throws {
        if !isSo { throw Failure(description: what) }
    }

    private mutating func read(_ line: String) throws {
        let words = line.split(separator: " ", maxSplits: 3, omittingEmptySubsequences: false).map { String($0) }
        guard words.first == "#" else { return try readSample(line) }
        try require(words.count == 4, "no comments are allowed: \(line)")
        let (name, value) = (words[2], words[3])
        try require(Self.isName(name), "\(name) is no name")
        switch words[1] {
        case "TYPE":
            let kinds = ["counter", "gauge", "info", "stateset"]
            try require(kinds.contains(value), "\(value) is no type")
            try require(!families.contains { $0.name == name }, "\(name) is there twice, or not in one piece")
            try require(!name.hasSuffix("_total") && !name.hasSuffix("_info"), "\(name) ends with a suffix")
            families.append(Family(name: name, kind: value))
        case "UNIT":
            try require(families.last?.name == name && families.last?.unit == nil, "UNIT of \(name) at a wrong place")
            try require(name.hasSuffix("_" + value), "\(name) does not end with its unit")
            families[families.count - 1].unit = value
        case "HELP":
            try require(families.last?.name == name && families.last?.help == nil, "HELP of \(name) at a wrong place")
            try require(families.last?.samples.isEmpty == true, "HELP of \(name) behind its samples")
            families[families.count - 1].help = value
        default: throw Failure(description: "not understood: \(line)")
        }
    }

    private mutating func readSample(_ line: String) throws {
        guard var family = families.last else { throw Failure(description: "a sample without TYPE: \(line)") }
        var rest = Substring(line)
        let name = String(rest.prefix { $0 != "{" && $0 != " " })
        rest = rest.dropFirst(name.count)
        let suffix = ["counter": "_total", "info": "_info"][family.kind] ?? ""
        try require(name == family.name + suffix, "\(name) is no sample of \(family.name)")
        var labels: [String: String] = [:]
        if rest.first == "{" { labels = try Self.labels(&rest) }
        try require(rest.first == " ", "no space before the value: \(line)")
        rest = rest.dropFirst()
        guard let value = Double(rest), value.isFinite, !rest.contains(" ") else {
            throw Failure(description: "no value: \(line)")
        }
        switch family.kind {
        case "counter": try require(value >= 0, "a counter below 0: \(line)")
        case "info": try require(value == 1, "an info that is not 1: \(line)")
        case "stateset":
            try require(value == 0 || value == 1, "a state that is neither 0 nor 1: \(line)")
            try require(labels[family.name] != nil, "a state without its name: \(line)")
        default: break
        }
        family.samples.append((labels, value))
        families[families.count - 1] = family
    }

    private static func labels(_ rest: inout Substring) throws -> [String: String] {
        var labels: [String: String] = [:]
        rest = rest.dropFirst()
        while true {
            let name = String(rest.prefix { $0 != "=" })
            rest = rest.dropFirst(name.count)
            guard isName(name), labels[name] == nil, rest.hasPrefix("=\"") else {
                throw Failure(description: "no label: \(name)")
            }
            rest = rest.dropFirst(2)
            var value = ""
            while let character = rest.popFirst(), character != "\"" {
                guard character == "\\" else {
                    value.append(character)
                    continue
                }
                switch rest.popFirst() {
                case "\\": value.append("\\")
                case "\"": value.append("\"")
                case "n": value.append("\n")
                default: throw Failure(description: "an escape that is none in \(name)")
                }
            }
            labels[name] = value
            switch rest.popFirst() {
            case ",": continue
            case "}": return labels
            default: throw Failure(description: "labels that do not end")
            }
        }
    }

    private static func isName(_ name: String) -> Bool {
        guard let first = name.first, first.isLetter || first == "_" else { return false }
        return name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }
    }
}
