import Glibc
import Synchronization

/// A program started by a test: collects its output as a string; it ends with this object.
///
/// Foundation's `Process` detects the end of a child by a descriptor that children started at the same time inherit; here no
/// child inherits another's.
package final class ChildProcess: Sendable {
    package struct SpawnError: Error {
        package let code: Int32
    }

    package enum Captured {
        case output, errors
    }

    private let pid: pid_t
    private let pipe: Int32

    package init(_ path: String, _ arguments: [String], capturing captured: Captured) throws {
        (pid, pipe) = try Self.spawning.withLock { _ in try Self.spawn(path, arguments, captured) }
    }

    /// Held from the creation of a pipe until the child has its own end.
    private static let spawning = Mutex(())

    private static func spawn(
        _ path: String, _ arguments: [String], _ captured: Captured
    ) throws -> (pid: pid_t, pipe: Int32) {
        var ends: [Int32] = [-1, -1]
        guard Glibc.pipe(&ends) == 0 else { throw SpawnError(code: errno) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer { close(ends[1]) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, ends[1], captured == .output ? STDOUT_FILENO : STDERR_FILENO)
        var words = ([path] + arguments).map { strdup($0) } + [nil]
        defer {
            for word in words { free(word) }
        }
        var pid: pid_t = 0
        let code = posix_spawn(&pid, path, &actions, nil, &words, environ)
        guard code == 0 else {
            close(ends[0])
            throw SpawnError(code: code)
        }
        return (pid, ends[0])
    }

    deinit {
        // Not SIGTERM: a child of a Dispatch thread has it blocked.
        kill(pid, SIGKILL)
        close(pipe)
        waitpid(pid, nil, 0)
    }

    /// The next piece of output; empty once the output is closed.
    package func read() -> String {
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = Glibc.read(pipe, &buffer, buffer.count)
            if count < 0 && errno == EINTR { continue }
            return String(decoding: buffer[..<max(0, count)], as: UTF8.self)
        }
    }

    package func send(_ signal: Int32) { kill(pid, signal) }

    /// The complete output, and the exit status. A program that is silent for a minute is killed: its status is then 9.
    package func finish() -> (text: String, status: Int32) {
        var text = ""
        while true {
            var output = pollfd(fd: pipe, events: Int16(POLLIN), revents: 0)
            if poll(&output, 1, 60_000) == 0 { send(SIGKILL) }
            let piece = read()
            guard !piece.isEmpty else { break }
            text += piece
        }
        var status = siginfo_t()
        // The child stays waitable for the end of this object.
        waitid(P_PID, id_t(pid), &status, WEXITED | WNOWAIT)
        return (text, status._sifields._sigchld.si_status)
    }
}
