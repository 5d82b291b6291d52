import Glibc

/// Runs a system program that prints a line and ends.
enum ProgramOutput {
    /// Far more than such a program prints.
    private static let mostBytes = 1 << 16

    /// - Returns: the standard output; nil when the program cannot be run.
    static func text(of program: String, _ arguments: [String]) -> String? {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return nil }
        defer { close(ends[0]) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO)
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
        var words = ([program] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var child: pid_t = 0
        let code = posix_spawn(&child, program, &actions, nil, &words, environ)
        close(ends[1])
        guard code == 0 else { return nil }
        let bytes = read(ends[0])
        while waitpid(child, nil, 0) < 0 && errno == EINTR {}
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Reads to the end, or up to the limit.
    private static func read(_ descriptor: Int32) -> [UInt8] {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 4096)
        while bytes.count < mostBytes {
            let count = Glibc.read(descriptor, &piece, piece.count)
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { break }
            bytes += piece[..<count]
        }
        return bytes
    }
}
