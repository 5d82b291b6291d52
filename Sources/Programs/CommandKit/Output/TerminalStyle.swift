import Glibc

/// Emphasis for people who read on a terminal: SGR sequences (ECMA-48 §8.3.117) around a text, or the text alone.
package struct TerminalStyle: Hashable, Sendable {
    /// False emphasizes nothing.
    package let isEnabled: Bool

    /// Nothing is emphasized: pipes, files, tests.
    package static let plain = TerminalStyle(isEnabled: false)

    package init(isEnabled: Bool) {
        self.isEnabled = isEnabled
    }

    /// By what is asked for, what `descriptor` is, and the environment (https://no-color.org; `TERM=dumb` shows no colours).
    package init(_ wish: Wish = .auto, descriptor: Int32 = STDOUT_FILENO) {
        self.init(wish, isTerminal: isatty(descriptor) == 1, variable: Self.variable)
    }

    /// - Parameter variable: a variable of the environment by its name.
    package init(_ wish: Wish, isTerminal: Bool, variable: (String) -> String?) {
        switch wish {
        case .always: isEnabled = true
        case .never: isEnabled = false
        case .auto: isEnabled = isTerminal && (variable("NO_COLOR") ?? "").isEmpty && variable("TERM") != "dumb"
        }
    }

    /// When to emphasize; `auto` is on a terminal only.
    package enum Wish: String, CaseIterable, Sendable {
        case always, never, auto
    }

    package func bold(_ text: String) -> StyledText { wrap(text, 1, 22) }
    package func dim(_ text: String) -> StyledText { wrap(text, 2, 22) }
    package func red(_ text: String) -> StyledText { wrap(text, 31, 39) }
    package func green(_ text: String) -> StyledText { wrap(text, 32, 39) }
    package func yellow(_ text: String) -> StyledText { wrap(text, 33, 39) }

    /// - Parameters:
    ///   - begin: the SGR parameter in front of the text.
    ///   - end: the one behind it, which takes back only this emphasis.
    private func wrap(_ text: String, _ begin: Int, _ end: Int) -> StyledText {
        isEnabled ? StyledText("\u{1B}[\(begin)m", text, "\u{1B}[\(end)m") : StyledText(text)
    }

    private static func variable(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }
}
