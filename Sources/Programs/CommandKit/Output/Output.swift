import ControlLoop
import Glibc
package import JSONText

/// Output of a verb: standard output for results, standard error for failures.
///
/// Names of headsets, callers and programs come from outside. All printed text is cleaned here (``PrintableText``), so that
/// such a name cannot control the terminal or imitate another line.
package struct Output: Sendable {
    /// Writes text unchanged: for terminal sequences and files only.
    package let write: @Sendable (String) -> Void
    package let writeError: @Sendable (String) -> Void
    /// Emphasis of results and failures.
    package var style = TerminalStyle.plain
    package var errorStyle = TerminalStyle.plain
    /// Whether failures are JSON objects: `--json`.
    package var reportsJSON = false
    /// The program's name in its messages.
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

    /// Limit in bytes for a text composed of others.
    private static let longestLine = 16 * 1024

    /// The process's own output, unbuffered, so that each line appears at once.
    package static let terminal = Output(
        write: { writeAll($0, to: STDOUT_FILENO) }, writeError: { writeAll($0, to: STDERR_FILENO) },
        program: Program.name)

    /// The process's own output, with colours as requested.
    package static func terminal(_ choice: TerminalStyle.ColorChoice) -> Output {
        var output = terminal
        output.style = TerminalStyle(choice, descriptor: STDOUT_FILENO)
        output.errorStyle = TerminalStyle(choice, descriptor: STDERR_FILENO)
        return output
    }

    /// Prints one line.
    package func print(_ line: String) {
        write(PrintableText.line(line, longest: Self.longestLine) + "\n")
    }

    package func print(_ line: StyledText) {
        write(line.text + "\n")
    }

    /// Prints a text of several lines, keeping its line feeds.
    package func printDocument(_ document: String) {
        write(PrintableText.document(document))
    }

    /// Prints JSON from another program, keeping its line feeds.
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

    /// Prints a verb's failure on standard error.
    package func report(_ failure: FailureReport, asJSON: Bool) {
        if asJSON { writeError(failure.json.text() + "\n") } else { printError(failure.message) }
    }

    /// Prints a question, to be answered on the same line, on standard error, as standard output may be redirected.
    package func ask(_ question: String) {
        writeError(PrintableText.line(question, longest: Self.longestLine))
    }

    /// Prints one document, indented.
    package func print(_ json: JSON) {
        write(json.text(.indented) + "\n")
    }

    /// Prints one document on one line.
    package func printLine(_ json: JSON) {
        write(json.text() + "\n")
    }
}

private func writeAll(_ text: String, to descriptor: Int32) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
        let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        if count < 0 && errno == EINTR { continue }
        // A reader that has closed its end is not a failure of the verb.
        guard count > 0 else { return }
        rest = rest.dropFirst(count)
    }
}
