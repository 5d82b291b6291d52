// winsize: from glibc 2.41 on, <sys/epoll.h> declares it, which belongs to CBTCall.
import CBTCall
import ControlLoop
import DBus
import Foundation
import Glibc
import TestSupport
import Testing

/// The program `btcall` on its own terminal, and the terminal's contents.
@ControlPlane
final class TerminalProgram {
    let screen: ScreenImage
    private let pid: pid_t
    private let terminal: Int32
    /// The program's side, kept open so that its settings outlive the program.
    private let line: Int32
    private var source: DescriptorSource?
    private var code: Int32?

    init(_ path: String, _ arguments: [String], _ bus: BusAddress, columns: UInt16 = 80, rows: UInt16 = 24) throws {
        terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        var number: UInt32 = 0
        var isLocked: Int32 = 0
        try #require(terminal >= 0)
        // TIOCSPTLCK and TIOCGPTN, which Swift does not see.
        try #require(ioctl(terminal, 0x4004_5431, &isLocked) == 0 && ioctl(terminal, 0x8004_5430, &number) == 0)
        let name = "/dev/pts/\(number)"
        line = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC)
        try #require(line >= 0)
        screen = ScreenImage(columns: Int(columns), rows: Int(rows))
        var size = winsize(ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        try #require(ioctl(line, UInt(TIOCSWINSZ), &size) == 0)
        pid = try Self.spawn(path, arguments, bus, on: name)
        source = try ControlLoop.shared.add(terminal, .readable) { [weak self] _ in self?.read() }
    }

    /// Starts it as the leader of a session; the first terminal that it opens becomes its controlling terminal.
    private static func spawn(_ path: String, _ arguments: [String], _ bus: BusAddress, on name: String) throws -> pid_t
    {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, name, O_RDWR, 0)
        posix_spawn_file_actions_adddup2(&actions, STDIN_FILENO, STDOUT_FILENO)
        posix_spawn_file_actions_adddup2(&actions, STDIN_FILENO, STDERR_FILENO)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // With SETSID; unlike in this thread, no signal is blocked.
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | 0x80))
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        var words = ([path] + arguments).map { strdup($0) } + [nil]
        let settings: [String] = ["BTCALL_BUS=\(bus)", "TERM=xterm", "TZ=UTC"]
        var environment = settings.map { strdup($0) } + [nil]
        defer { for word in words + environment { free(word) } }
        var pid: pid_t = 0
        try #require(posix_spawn(&pid, path, &actions, &attributes, &words, &environment) == 0)
        return pid
    }

    isolated deinit {
        source?.cancel()
        if code == nil {
            kill(pid, SIGKILL)
            waitpid(pid, nil, 0)
        }
        close(terminal)
        close(line)
    }

    private func read() {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = Glibc.read(terminal, &bytes, bytes.count)
        if count > 0 { screen.write(bytes[..<count]) }
    }

    func type(_ text: String) {
        let bytes = Array(text.utf8)
        _ = Glibc.write(terminal, bytes, bytes.count)
    }

    func resize(columns: UInt16, rows: UInt16) {
        screen.resize(columns: Int(columns), rows: Int(rows))
        var size = winsize(ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        _ = ioctl(line, UInt(TIOCSWINSZ), &size)
    }

    func signal(_ number: Int32) { kill(pid, number) }

    /// Whether it has stopped for the shell.
    var isStopped: Bool {
        let words = (try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)) ?? ""
        return words.split(separator: ")").last?.split(separator: " ").first == "T"
    }

    /// Whether the terminal edits and echoes lines, as a shell expects.
    var isCooked: Bool {
        var state = termios()
        guard tcgetattr(line, &state) == 0 else { return false }
        return state.c_lflag & tcflag_t(ICANON) != 0 && state.c_lflag & tcflag_t(ECHO) != 0
    }

    func shows(_ text: String, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        do {
            try await eventually("the screen shows \(text)", sourceLocation: sourceLocation) {
                self.screen.text.contains(text)
            }
        } catch {
            Issue.record("it shows\n\(screen.text)", sourceLocation: sourceLocation)
            throw error
        }
    }

    /// Its exit code; -1 when a signal ended it.
    func status() async throws -> Int32 {
        try await eventually("the program ends") {
            var status: Int32 = 0
            guard waitpid(self.pid, &status, WNOHANG) == self.pid else { return false }
            self.code = status & 0x7F == 0 ? (status >> 8) & 0xFF : -1
            return true
        }
        // Its last output.
        try await eventually("all was read") {
            var waiting: Int32 = 0
            return ioctl(self.terminal, UInt(FIONREAD), &waiting) == 0 && waiting == 0
        }
        return code ?? -1
    }
}

/// The contents of a terminal, as far as `btcall` uses one; every character has one column.
@ControlPlane
final class ScreenImage {
    private(set) var isAlternate = false
    private(set) var isCursorVisible = true
    private(set) var breaksLines = true
    /// Unknown sequences.
    private(set) var unknown: [String] = []
    private var cells: [[Character]]
    private var columns: Int
    private var row = 0
    private var column = 0
    private var pending: [UInt8] = []

    init(columns: Int, rows: Int) {
        self.columns = columns
        cells = Array(repeating: Array(repeating: " ", count: columns), count: rows)
    }

    /// The lines without trailing spaces.
    var lines: [String] {
        cells.map { row in
            var line = row[...]
            while line.last == " " { line.removeLast() }
            return String(line)
        }
    }

    var text: String { lines.joined(separator: "\n") }

    func resize(columns: Int, rows: Int) {
        self.columns = columns
        clear(rows: rows)
    }

    func write(_ bytes: some Sequence<UInt8>) {
        pending += bytes
        // An incomplete sequence waits for the rest.
        while let length = handleNext() { pending.removeFirst(length) }
    }

    /// Handles the first character or sequence; returns its length in bytes, or nil when it is incomplete.
    private func handleNext() -> Int? {
        guard let first = pending.first else { return nil }
        if first == 0x1B {
            guard pending.count >= 2 else { return nil }
            guard pending[1] == UInt8(ascii: "[") else { return 2 }
            guard let end = pending.dropFirst(2).firstIndex(where: { $0 >= 0x40 }) else { return nil }
            act(String(decoding: pending[2..<end], as: UTF8.self), Character(Unicode.Scalar(pending[end])))
            return end + 1
        }
        let size = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4
        guard pending.count >= size else { return nil }
        put(Character(String(decoding: pending[..<size], as: UTF8.self)))
        return size
    }

    private func put(_ character: Character) {
        switch character {
        case "\r": column = 0
        case "\n": row = min(row + 1, cells.count - 1)
        case "\r\n": break
        default:
            guard cells.indices.contains(row), column < columns else { return }
            cells[row][column] = character
            column += 1
        }
    }

    private func act(_ parameters: String, _ end: Character) {
        switch (parameters, end) {
        case ("?1049", "h"), ("?1049", "l"):
            isAlternate = end == "h"
            clear(rows: cells.count)
        case ("?25", "h"), ("?25", "l"): isCursorVisible = end == "h"
        case ("?7", "h"), ("?7", "l"): breaksLines = end == "h"
        case ("2", "J"): clear(rows: cells.count)
        case ("", "K"):
            if cells.indices.contains(row) { for index in column..<max(column, columns) { cells[row][index] = " " } }
        case (_, "H"):
            let numbers = parameters.split(separator: ";").compactMap { Int($0) }
            row = (numbers.first ?? 1) - 1
            column = (numbers.last ?? 1) - 1
        case (_, "m"): break
        default: unknown.append(parameters + String(end))
        }
    }

    private func clear(rows: Int) {
        cells = Array(repeating: Array(repeating: " ", count: columns), count: rows)
    }
}

extension Program {
    func startOnTerminal(_ arguments: String..., columns: UInt16 = 80, rows: UInt16 = 24) throws -> TerminalProgram {
        try TerminalProgram(path, arguments, bus, columns: columns, rows: rows)
    }
}
