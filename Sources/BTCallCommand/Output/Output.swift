import Glibc

/// Where a verb prints: standard output for what was asked, standard error for what went wrong.
struct Output: Sendable {
    let write: @Sendable (String) -> Void
    let writeError: @Sendable (String) -> Void
    /// How what was asked for is emphasized, and what went wrong.
    var style = TerminalStyle.plain
    var errorStyle = TerminalStyle.plain

    /// The process's own, unbuffered, so that a line is there when it is printed.
    static let terminal = Output(
        write: { writeAll($0, to: STDOUT_FILENO) }, writeError: { writeAll($0, to: STDERR_FILENO) })

    /// The process's own, with colours where they are wished for.
    static func terminal(_ wish: TerminalStyle.Wish) -> Output {
        var output = terminal
        output.style = TerminalStyle(wish, descriptor: STDOUT_FILENO)
        output.errorStyle = TerminalStyle(wish, descriptor: STDERR_FILENO)
        return output
    }

    func print(_ line: String) {
        write(line + "\n")
    }

    func print(_ table: Table) {
        table.lines(in: style).forEach(print)
    }

    func print(_ facts: Facts) {
        facts.lines(in: style).forEach(print)
    }

    func printError(_ message: String) {
        writeError("\(errorStyle.red("btcall:")) \(message)\n")
    }

    /// One document, indented.
    func print(_ json: JSON) {
        print(json.text(indented: true))
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
