import Glibc

/// Emphasis on a terminal: SGR sequences (ECMA-48 §8.3.117) around a text, or the plain text.
package struct TerminalStyle: Hashable, Sendable {
    /// False for plain text.
    package let isEnabled: Bool

    /// Plain text: for pipes, files, tests.
    package static let plain = TerminalStyle(isEnabled: false)

    package init(isEnabled: Bool) {
        self.isEnabled = isEnabled
    }

    /// Decides by the request, the kind of `descriptor`, and the environment (https://no-color.org; `TERM=dumb` has no
    /// colours).
    package init(_ choice: ColorChoice = .auto, descriptor: Int32 = STDOUT_FILENO) {
        self.init(choice, isTerminal: isatty(descriptor) == 1, variable: Self.variable)
    }

    /// - Parameter variable: returns an environment variable by its name.
    package init(_ choice: ColorChoice, isTerminal: Bool, variable: (String) -> String?) {
        switch choice {
        case .always: isEnabled = true
        case .never: isEnabled = false
        case .auto: isEnabled = isTerminal && (variable("NO_COLOR") ?? "").isEmpty && variable("TERM") != "dumb"
        }
    }

    /// When to emphasise; `auto` only on a terminal.
    package enum ColorChoice: String, CaseIterable, Sendable {
        case always, never, auto
    }

    package func bold(_ text: String) -> StyledText { wrap(text, 1, 22) }
    package func dim(_ text: String) -> StyledText { wrap(text, 2, 22) }
    package func red(_ text: String) -> StyledText { wrap(text, 31, 39) }
    package func green(_ text: String) -> StyledText { wrap(text, 32, 39) }
    package func yellow(_ text: String) -> StyledText { wrap(text, 33, 39) }

    /// - Parameters:
    ///   - begin: the SGR parameter before the text.
    ///   - end: the one after it, which ends only this emphasis.
    private func wrap(_ text: String, _ begin: Int, _ end: Int) -> StyledText {
        isEnabled ? StyledText("\u{1B}[\(begin)m", text, "\u{1B}[\(end)m") : StyledText(text)
    }

    private static func variable(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }
}
