import Glibc

/// Where a verb prints: standard output for what was asked, standard error for what went wrong.
struct Output: Sendable {
    let write: @Sendable (String) -> Void
    let writeError: @Sendable (String) -> Void

    /// The process's own, unbuffered, so that a line is there when it is printed.
    static let terminal = Output(
        write: { writeAll($0, to: STDOUT_FILENO) }, writeError: { writeAll($0, to: STDERR_FILENO) })

    func print(_ line: String) {
        write(line + "\n")
    }

    func printError(_ message: String) {
        writeError("btcall: \(message)\n")
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
