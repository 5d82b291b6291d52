import ControlLoop

/// A line of a screen: pieces of text with their meaning.
package struct ScreenLine: Hashable, Sendable {
    package enum Tint: Hashable, Sendable {
        case plain, strong, faint, good, warning, bad
    }

    private struct Piece: Hashable {
        let text: String
        let tint: Tint
    }

    private var pieces: [Piece] = []

    package init() {}

    /// - Parameter label: subject of the line, in a column of its own.
    package init(label: String) {
        add(TerminalText.fitted(label, Self.labelColumns), .strong)
    }

    package static let labelColumns = 10

    /// Adds text, which may come from outside.
    package mutating func add(_ text: String, _ tint: Tint = .plain) {
        pieces.append(Piece(text: PrintableText.line(text), tint: tint))
    }

    /// Width in columns.
    package var columns: Int { pieces.reduce(0) { $0 + TerminalText.columns($1.text) } }

    /// The first `width` columns, without trailing spaces.
    package func text(width: Int, _ style: TerminalStyle = .plain) -> String {
        let isCut = columns > width
        var left = isCut ? width - 1 : width
        var kept: [Piece] = []
        for piece in pieces {
            let text = TerminalText.prefix(piece.text, columns: left)
            left -= TerminalText.columns(text)
            kept.append(Piece(text: text, tint: piece.tint))
        }
        while !isCut, let last = kept.popLast() {
            guard let end = last.text.lastIndex(where: { $0 != " " }) else { continue }
            kept.append(Piece(text: String(last.text[...end]), tint: last.tint))
            break
        }
        let text = kept.map { Self.styled($0.text, $0.tint, style) }.joined()
        return isCut && width > 0 ? text + "…" : text
    }

    private static func styled(_ text: String, _ tint: Tint, _ style: TerminalStyle) -> String {
        switch tint {
        case .plain: text
        case .strong: style.bold(text).text
        case .faint: style.dim(text).text
        case .good: style.green(text).text
        case .warning: style.yellow(text).text
        case .bad: style.red(text).text
        }
    }
}
