/// A manual page in the macros of man(7).
package struct ManualPage {
    package let name: String
    package let section: Int
    /// Roff without the header.
    private var body = ""

    /// - Parameter summary: one sentence, which `apropos` searches.
    package init(_ name: String, section: Int, summary: String) {
        self.name = name
        self.section = section
        heading("NAME")
        let words = summary.last == "." ? String(summary.dropLast()) : summary
        body += "\(Self.code(name)) \\- \(Self.text(words.prefix(1).lowercased() + words.dropFirst()))\n"
    }

    package var fileName: String { "\(name).\(section)" }

    /// The whole page.
    ///
    /// - Parameter version: version of btcall, for the footer.
    package func roff(version: String) -> String {
        ".\\\" Made by `btcall manual`.\n.TH \(Self.code(name.uppercased())) \(section) \"\" \"btcall \(version)\" btcall\n"
            // No hyphenation and no justification: much of the text is to be typed.
            + ".nh\n.ad l\n" + body
    }

    package mutating func heading(_ title: String) { body += ".SH \(Self.quoted(title))\n" }

    package mutating func subheading(_ title: String) { body += ".SS \(Self.quoted(title))\n" }

    /// Lines to type.
    package mutating func code(_ lines: [String]) {
        guard !lines.isEmpty else { return }
        body += ".PP\n.nf\n.RS 4\n" + lines.map { Self.guarded(Self.code($0)) + "\n" }.joined() + ".RE\n.fi\n"
    }

    /// A term and its meaning.
    ///
    /// - Parameter term: already in roff: ``argument(_:)``, ``code(_:)``.
    package mutating func item(_ term: String, _ meaning: String) {
        body += ".TP\n\(Self.guarded(term))\n\(Self.guarded(Self.text(meaning)))\n"
    }

    /// Further lines of the previous item.
    package mutating func itemContinued(_ text: String) { body += ".br\n\(Self.guarded(Self.text(text)))\n" }

    /// A text of the command line's help: paragraphs separated by empty lines, lists of indented lines whose terms are
    /// followed by two spaces.
    package mutating func prose(_ text: String) {
        var isOpen = false
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.allSatisfy({ $0 == " " }) {
                isOpen = false
            } else if line.hasPrefix("  ") {
                let words = line.drop { $0 == " " }
                if let gap = Self.gap(in: words) {
                    item(Self.code(String(words[..<gap])), String(words[gap...].drop { $0 == " " }))
                } else {
                    body += ".RS 4\n\(Self.guarded(Self.text(String(words))))\n.RE\n"
                }
                isOpen = false
            } else {
                if !isOpen { body += ".PP\n" }
                body += Self.guarded(Self.text(String(line))) + "\n"
                isOpen = true
            }
        }
    }

    /// The SEE ALSO section.
    package mutating func seeAlso(_ pages: [String]) {
        heading("SEE ALSO")
        body += pages.map { "\\fB\(Self.code($0))\\fR" }.joined(separator: ",\n") + "\n"
    }

    // MARK: Roff

    /// Text with words between grave accents in bold.
    package static func text(_ text: String) -> String {
        var isCode = false
        let parts = text.split(separator: "`", omittingEmptySubsequences: false).map { part -> String in
            defer { isCode.toggle() }
            return isCode ? "\\fB\(code(String(part)))\\fR" : escaped(String(part))
        }
        // An unclosed grave accent is an ordinary character.
        return parts.count % 2 == 1 ? parts.joined() : escaped(text)
    }

    /// Text to type: hyphens are those of options.
    package static func code(_ text: String) -> String {
        var result = ""
        for character in escaped(text) { result += character == "-" ? "\\-" : String(character) }
        return result
    }

    /// A placeholder for a value.
    package static func argument(_ name: String) -> String { "\\fI\(code(name))\\fR" }

    private static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": result += "\\(rs"
            case "'": result += "\\(aq"
            case "`": result += "\\(ga"
            case "^": result += "\\(ha"
            case "~": result += "\\(ti"
            case "\"": result += "\\(dq"
            default:
                if scalar.isASCII {
                    result.unicodeScalars.append(scalar)
                } else {
                    let digits = String(scalar.value, radix: 16, uppercase: true)
                    result += "\\[u\(String(repeating: "0", count: max(0, 4 - digits.count)))\(digits)]"
                }
            }
        }
        return result
    }

    private static func quoted(_ title: String) -> String { "\"\(code(title))\"" }

    /// Protects a line that roff would read as a request.
    private static func guarded(_ line: String) -> String {
        line.hasPrefix(".") || line.hasPrefix("'") ? "\\&" + line : line
    }

    /// The place of two consecutive spaces.
    private static func gap(in line: Substring) -> String.Index? {
        line.indices.first { index in
            let next = line.index(after: index)
            return line[index] == " " && next < line.endIndex && line[next] == " "
        }
    }
}
