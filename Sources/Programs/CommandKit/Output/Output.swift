import ControlLoop
import Glibc
package import JSONText

/// Where a verb prints: standard output for what was asked, standard error for what went wrong.
///
/// Names of headsets, callers and programs come from others. Whatever is printed is cleaned here (``PrintableText``), so that
/// nothing of theirs acts on the terminal or looks like another line.
package struct Output: Sendable {
    /// Puts text where it belongs as it is: for sequences that a screen is drawn with, and files. All else is printed.
    package let write: @Sendable (String) -> Void
    package let writeError: @Sendable (String) -> Void
    /// How what was asked for is emphasized, and what went wrong.
    package var style = TerminalStyle.plain
    package var errorStyle = TerminalStyle.plain
    /// Whether failures are objects for programs: `--json`.
    package var reportsJSON = false
    /// The program that complains.
    private let program: String

    package init(write: @escaping @Sendable (String) -> Void, writeError: @escaping @Sendable (String) -> Void) {
        self.init(write: write, writeError: writeError, program: "btcall")
    }

    private init(
        write: @escaping @Sendable (String) -> Void, writeError: @escaping @Sendable (String) -> Void, program: String
    ) {
        self.write = write
        self.writeError = writeError
        self.program = program
    }

    /// Of what is made of many texts, in bytes.
    private static let longestLine = 16 * 1024

    /// The process's own, unbuffered, so that a line is there when it is printed.
    package static let terminal = Output(
        write: { writeAll($0, to: STDOUT_FILENO) }, writeError: { writeAll($0, to: STDERR_FILENO) },
        program: Program.name)

    /// The process's own, with colours where they are wished for.
    package static func terminal(_ wish: TerminalStyle.Wish) -> Output {
        var output = terminal
        output.style = TerminalStyle(wish, descriptor: STDOUT_FILENO)
        output.errorStyle = TerminalStyle(wish, descriptor: STDERR_FILENO)
        return output
    }

    /// One line.
    package func print(_ line: String) {
        write(PrintableText.line(line, longest: Self.longestLine) + "\n")
    }

    package func print(_ line: StyledText) {
        write(line.text + "\n")
    }

    /// A text of several lines, with the line feeds that it has.
    package func printDocument(_ document: String) {
        write(PrintableText.document(document))
    }

    /// JSON that somebody else has written, with the line feeds that it has.
    package func printJSONDocument(_ json: String) {
        write(PrintableText.document(json: json))
    }

    package func print(_ table: Table) {
        table.lines(in: style).forEach(print)
    }

    package func print(_ facts: Facts) {
        facts.lines(in: style).forEach(print)
    }

    package func printError(_ message: String) {
        let line = PrintableText.line(message, longest: Self.longestLine)
        writeError("\(errorStyle.red("\(program):").text) \(line)\n")
    }

    /// How a verb failed, on standard error.
    package func report(_ failure: FailureReport, asJSON: Bool) {
        if asJSON { writeError(failure.json.text() + "\n") } else { printError(failure.message) }
    }

    /// A question, behind which the answer is typed: on standard error, as what is printed may go elsewhere.
    package func ask(_ question: String) {
        writeError(PrintableText.line(question, longest: Self.longestLine))
    }

    /// One document, indented.
    package func print(_ json: JSON) {
        write(json.text(.indented) + "\n")
    }

    /// One document, on one line.
    package func printLine(_ json: JSON) {
        write(json.text() + "\n")
    }
}

private func writeAll(_ text: String, to descriptor: Int32) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
        let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        if count < 0 && errno == EINTR { continue }
        // A reader that has gone is no failure of the verb.
        guard count > 0 else { return }
        rest = rest.dropFirst(count)
    }
}
