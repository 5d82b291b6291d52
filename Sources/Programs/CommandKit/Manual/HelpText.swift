/// The discussion of a verb, split into prose and examples.
///
/// Examples are lines that begin with `Example: btcall`, or with two spaces and a command below a line `Examples:`.
package struct HelpText: Hashable {
    /// The text without the examples.
    package let prose: String
    package let examples: [String]

    package init(_ discussion: String) {
        var prose: [Substring] = []
        var examples: [String] = []
        var isList = false
        for line in discussion.split(separator: "\n", omittingEmptySubsequences: false) {
            let single = "Example: "
            if line == "Examples:" {
                isList = true
            } else if isList, line.hasPrefix("  ") {
                examples.append(String(line.dropFirst(2)))
            } else if line.hasPrefix(single) {
                examples.append(String(line.dropFirst(single.count)))
            } else {
                isList = false
                prose.append(line)
            }
        }
        while prose.first == "" { prose.removeFirst() }
        while prose.last == "" { prose.removeLast() }
        self.prose = prose.joined(separator: "\n")
        self.examples = examples
    }
}
