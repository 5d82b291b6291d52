package import ControlLoop
import Glibc

/// A terminal used as a full screen and restored afterwards.
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
    /// The original standard error.
    private var errors: Int32 = -1

    /// - Parameter write: writes text to the terminal.
    /// - Returns: nil when `output` is not a terminal.
    package init?(input: Int32 = 0, output: Int32 = 1, write: @escaping @Sendable (String) -> Void) {
        guard isatty(output) == 1 else { return nil }
        self.input = input
        self.output = output
        self.write = write
    }

    /// The present size; 80 by 24 when the terminal does not report one.
    package var size: Size {
        var size = winsize()
        guard ioctl(output, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
            return Size(columns: 80, rows: 24)
        }
        return Size(columns: Int(size.ws_col), rows: Int(size.ws_row))
    }

    /// Switches to the alternate screen, without cursor and line wrapping, and reads keys unbuffered.
    ///
    /// - Parameter onKey: called for each key that produces a character; not called when the input is not a terminal.
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

    /// Log lines of the library would disturb the screen.
    private func silenceErrors() {
        guard isatty(STDERR_FILENO) == 1 else { return }
        let nothing = open("/dev/null", O_WRONLY | O_CLOEXEC)
        guard nothing >= 0 else { return }
        errors = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0)
        if errors >= 0 { _ = dup2(nothing, STDERR_FILENO) }
        close(nothing)
    }

    /// Restores the terminal.
    package func leave() {
        guard isEntered else { return }
        isEntered = false
        keys?.cancel()
        keys = nil
        write("\u{1B}[0m\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l")
        if var saved {
            // Pending input was meant for the screen, not for the shell.
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

    /// Redraws everything with the next frame.
    package func redraw() {
        shown = []
        shownSize = Size(columns: 0, rows: 0)
    }

    /// - Parameter lines: the lines for a terminal of the given size.
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
            // The terminal has gone; SIGHUP reports this, too.
            keys?.cancel()
            keys = nil
            return
        }
        for key in Self.keys(bytes[..<count]) { onKey(key) }
    }

    /// The characters in a terminal's input. Other keys send ESC, `[` or `O`, and further bytes up to a final one.
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
