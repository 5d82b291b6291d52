package import ControlLoop
import Glibc

/// A terminal that is drawn on as a whole, and given back as it was.
///
/// Only lines that differ are written: a serial console is slow.
@ControlPlane
package final class TerminalScreen {
    package struct Size: Hashable, Sendable {
        package var columns: Int
        package var rows: Int

        package init(columns: Int, rows: Int) {
            self.columns = columns
            self.rows = rows
        }
    }

    private let input: Int32
    private let output: Int32
    private let write: @Sendable (String) -> Void
    private var saved: termios?
    private var shown: [String] = []
    private var shownSize = Size(columns: 0, rows: 0)
    private var isEntered = false
    private var keys: DescriptorSource?
    /// Standard error as it was.
    private var errors: Int32 = -1

    /// - Parameter write: puts text on the terminal.
    /// - Returns: nil when `output` is no terminal.
    package init?(input: Int32 = 0, output: Int32 = 1, write: @escaping @Sendable (String) -> Void) {
        guard isatty(output) == 1 else { return nil }
        self.input = input
        self.output = output
        self.write = write
    }

    /// As large as it is now; 80 by 24 where it does not tell.
    package var size: Size {
        var size = winsize()
        guard ioctl(output, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
            return Size(columns: 80, rows: 24)
        }
        return Size(columns: Int(size.ws_col), rows: Int(size.ws_row))
    }

    /// Takes the alternate screen, without cursor and without breaking lines, and keys as they come.
    ///
    /// - Parameter onKey: for each key that makes a character; not called when the input is no terminal.
    package func enter(onKey: @escaping @ControlPlane (Character) -> Void) {
        guard !isEntered else { return }
        isEntered = true
        var state = termios()
        if isatty(input) == 1, tcgetattr(input, &state) == 0 {
            saved = state
            state.c_lflag &= ~tcflag_t(ICANON | ECHO)
            _ = tcsetattr(input, TCSANOW, &state)
            // Without keys there are still signals.
            keys = try? ControlLoop.shared.add(input, .readable) { [weak self] _ in self?.readKeys(onKey) }
        }
        silenceErrors()
        write("\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l")
        redraw()
    }

    /// What the library logs would stand in the middle of the screen.
    private func silenceErrors() {
        guard isatty(STDERR_FILENO) == 1 else { return }
        let nothing = open("/dev/null", O_WRONLY | O_CLOEXEC)
        guard nothing >= 0 else { return }
        errors = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0)
        if errors >= 0 { _ = dup2(nothing, STDERR_FILENO) }
        close(nothing)
    }

    /// Gives the terminal back as it was found.
    package func leave() {
        guard isEntered else { return }
        isEntered = false
        keys?.cancel()
        keys = nil
        write("\u{1B}[0m\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l")
        if var saved {
            // What was typed meant the screen, not the shell.
            _ = tcflush(input, TCIFLUSH)
            _ = tcsetattr(input, TCSANOW, &saved)
        }
        saved = nil
        if errors >= 0 {
            _ = dup2(errors, STDERR_FILENO)
            close(errors)
            errors = -1
        }
    }

    /// Draws everything again with the next frame.
    package func redraw() {
        shown = []
        shownSize = Size(columns: 0, rows: 0)
    }

    /// - Parameter lines: what is to be shown on a terminal of this size.
    package func show(_ style: TerminalStyle, _ lines: (Size) -> [ScreenLine]) {
        guard isEntered else { return }
        let size = self.size
        let lines = lines(size)
        var text = ""
        if size != shownSize {
            shown = []
            shownSize = size
            text = "\u{1B}[0m\u{1B}[2J"
        }
        let drawn = lines.map { $0.text(width: size.columns, style) }
        for (row, line) in drawn.enumerated() where !shown.indices.contains(row) || shown[row] != line {
            text += "\u{1B}[\(row + 1);1H\(line)"
            // In the last column it would erase the character there.
            if TerminalText.columns(lines[row].text(width: size.columns)) < size.columns { text += "\u{1B}[K" }
        }
        shown = drawn
        if !text.isEmpty { write(text) }
    }

    private func readKeys(_ onKey: @ControlPlane (Character) -> Void) {
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = read(input, &bytes, bytes.count)
        if count < 0 && (errno == EINTR || errno == EAGAIN) { return }
        guard count > 0 else {
            // The terminal is gone; SIGHUP says so as well.
            keys?.cancel()
            keys = nil
            return
        }
        for key in Self.keys(bytes[..<count]) { onKey(key) }
    }

    /// The characters among what a terminal sends; keys that make none send ESC, `[` or `O`, and more up to a last byte.
    package static func keys(_ bytes: some Sequence<UInt8>) -> [Character] {
        var keys: [Character] = []
        var before: [UInt8] = []
        for byte in bytes {
            switch (before.count, byte) {
            case (_, 0x1B): before = [byte]
            case (0, _): keys.append(Character(Unicode.Scalar(byte)))
            case (1, UInt8(ascii: "[")), (1, UInt8(ascii: "O")), (2, 0x20...0x3F): before = [0x1B, byte]
            default: before = []
            }
        }
        return keys
    }
}
