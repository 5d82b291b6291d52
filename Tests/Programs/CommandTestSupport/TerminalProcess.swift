import Glibc

/// A program started by a test on its own pseudo-terminal of 100 columns and 40 rows.
///
/// Collects the program's output; a test waits for a part of it. The program ends with this object.
package final class TerminalProcess {
    package struct TerminalError: Error, CustomStringConvertible {
        package let description: String
    }

    private let pid: pid_t
    private let master: Int32
    /// Kept open: the terminal's attributes outlive the program.
    private let terminal: Int32
    /// The program's complete output.
    package private(set) var text = ""

    package init(_ path: String, _ arguments: [String], environment: [String] = ["TERM=xterm", "PATH=/usr/bin:/bin"])
        throws
    {
        master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        var (isLocked, number): (Int32, Int32) = (0, 0)
        guard master >= 0, ioctl(master, Self.setLock, &isLocked) == 0, ioctl(master, Self.number, &number) == 0 else {
            throw TerminalError(description: "there is no pseudo-terminal: errno \(errno)")
        }
        let slave = "/dev/pts/\(number)"
        terminal = open(slave, O_RDWR | O_NOCTTY | O_CLOEXEC)
        var size = winsize(ws_row: 40, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0)
        _ = ioctl(terminal, UInt(TIOCSWINSZ), &size)
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] {
            posix_spawn_file_actions_addopen(&actions, descriptor, slave, O_RDWR, 0)
        }
        var words = ([path] + arguments).map { strdup($0) } + [nil]
        var variables = environment.map { strdup($0) } + [nil]
        defer { for word in words + variables { free(word) } }
        // A test's thread may have signals blocked; the program needs them.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var noSignals = sigset_t()
        sigemptyset(&noSignals)
        posix_spawnattr_setsigmask(&attributes, &noSignals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var child: pid_t = 0
        let code = posix_spawn(&child, path, &actions, &attributes, &words, &variables)
        guard code == 0 else { throw TerminalError(description: "\(path) does not start: errno \(code)") }
        pid = child
    }

    deinit {
        kill(pid, SIGKILL)
        waitpid(pid, nil, 0)
        close(terminal)
        close(master)
    }

    /// `TIOCSPTLCK` and `TIOCGPTN` of asm-generic/ioctls.h, which Swift does not import.
    private static let setLock: UInt = 0x4004_5431
    private static let number: UInt = 0x8004_5430

    package func type(_ keys: String) {
        read(timeout: 0)
        fresh = ""
        _ = Array(keys.utf8).withUnsafeBytes { write(master, $0.baseAddress, $0.count) }
    }

    package func signal(_ number: Int32) { kill(pid, number) }

    /// Whether the terminal has line editing and echo, as a shell leaves it.
    package var isCooked: Bool {
        var state = termios()
        guard tcgetattr(terminal, &state) == 0 else { return false }
        return state.c_lflag & tcflag_t(ICANON) != 0 && state.c_lflag & tcflag_t(ECHO) != 0
    }

    /// Reads until `part` appears in the output since the last typed keys.
    ///
    /// - Parameter seconds: timeout.
    package func wait(for part: String, seconds: Int = 20) throws {
        try wait(seconds, "for '\(part)'") {
            self.fresh.contains(part)
        }
    }

    /// Reads until the program has ended; returns its exit status, or nil when a signal ended it.
    package func waitForEnd(seconds: Int = 20) throws -> Int32? {
        var status: Int32?
        try wait(seconds, "for the end") {
            var information = siginfo_t()
            // The child stays waitable for the end of this object.
            guard waitid(P_PID, id_t(self.pid), &information, WEXITED | WNOWAIT | WNOHANG) == 0,
                information._sifields._sigchld.si_pid == self.pid
            else { return false }
            status = information.si_code == 1 ? information._sifields._sigchld.si_status : nil
            return true
        }
        return status
    }

    private var fresh = ""

    private func wait(_ seconds: Int, _ what: String, _ isThere: () -> Bool) throws {
        let end = time(nil) + seconds
        while !isThere() {
            guard time(nil) < end else {
                throw TerminalError(description: "waited \(seconds) s in vain \(what); written: \(fresh.suffix(3000))")
            }
            read()
        }
        // Its last output before it ended.
        read(timeout: 0)
    }

    private func read(timeout: Int32 = 100) {
        var wait = pollfd(fd: master, events: Int16(POLLIN), revents: 0)
        guard poll(&wait, 1, timeout) > 0 else { return }
        var buffer = [UInt8](repeating: 0, count: 65536)
        let count = Glibc.read(master, &buffer, buffer.count)
        guard count > 0 else { return }
        let piece = String(decoding: buffer[..<count], as: UTF8.self)
        text += piece
        fresh += piece
    }
}
