/// Widths of cleaned text (``PrintableText``) on a terminal, in columns.
package enum TerminalText {
    package static func columns(_ text: String) -> Int {
        text.unicodeScalars.reduce(0) { $0 + columns($1) }
    }

    /// The longest prefix that fits into the columns.
    package static func prefix(_ text: String, columns limit: Int) -> String {
        var result = String.UnicodeScalarView()
        var used = 0
        for scalar in text.unicodeScalars {
            used += columns(scalar)
            if used > limit { break }
            result.append(scalar)
        }
        return String(result)
    }

    /// The text in exactly this many columns: padded with spaces, or cut off with `…`.
    package static func fitted(_ text: String, _ width: Int) -> String {
        let cut = clipped(text, width)
        return cut + String(repeating: " ", count: max(0, width - columns(cut)))
    }

    /// The text in at most this many columns, cut off with `…`.
    package static func clipped(_ text: String, _ width: Int) -> String {
        if columns(text) <= width { return text }
        return width > 0 ? prefix(text, columns: width - 1) + "…" : ""
    }

    /// The text in lines of at most `width` columns, broken at spaces where possible.
    package static func wrapped(_ text: String, _ width: Int) -> [String] {
        var lines: [String] = []
        var line = ""
        for word in text.split(separator: " ") {
            var rest = String(word)
            if !line.isEmpty && columns(line) + 1 + columns(rest) > width {
                lines.append(line)
                line = ""
            }
            while columns(rest) > max(width, 2) {
                let part = prefix(rest, columns: max(width, 2))
                lines.append(part)
                rest = String(rest.unicodeScalars.dropFirst(part.unicodeScalars.count))
            }
            line += line.isEmpty ? rest : " " + rest
        }
        return line.isEmpty ? lines : lines + [line]
    }

    private static func columns(_ scalar: Unicode.Scalar) -> Int {
        if scalar.isASCII { return 1 }
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark: return 0
        default: return wide.contains { $0.contains(scalar.value) } || scalar.properties.isEmojiPresentation ? 2 : 1
        }
    }

    /// Wide characters by Unicode's East Asian Width (UAX #11), in whole blocks.
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x4DBF, 0x4E00...0x9FFF, 0xA000...0xA4CF, 0xA960...0xA97F,
        0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F,
        0x1F900...0x1F9FF, 0x20000...0x3FFFD,
    ]
}
