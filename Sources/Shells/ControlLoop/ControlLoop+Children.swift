internal import CBTCall
internal import Glibc

extension ControlLoop {
    /// Longest value of a variable in a child's environment, in bytes of UTF-8; a longer one is cut between two characters.
    /// A string of 128 KiB would keep any program from starting (`MAX_ARG_STRLEN`, execve(2)).
    package static let longestVariable = 32 * 1024

    /// Time between two checks of a child, if the kernel cannot report its end (before Linux 5.3).
    private static let childInterval = Duration.milliseconds(50)

    /// Starts a program, found along PATH, with this process's standard descriptors and environment and with no signal
    /// blocked, and waits for its end.
    ///
    /// - Parameters:
    ///   - words: the program and its arguments.
    ///   - forwarded: signals that are passed on to the child, instead of ending this process.
    ///   - ignored: signals that this process ignores meanwhile, because a terminal sends them to the child as well.
    /// - Returns: its exit status; 128 plus the signal's number when a signal ended it.
    /// - Throws: why it could not be started: `ENOENT`, `EACCES`.
    @ControlPlane
    package func run(
        _ words: [String], forwarding forwarded: [Int32] = [], ignoring ignored: [Int32] = []
    ) async throws(SystemError) -> Int32 {
        var sources: [SignalSource] = []
        defer { for source in sources { source.cancel() } }
        // Registered before a child exists that could cause one; the signals are delivered once this waits.
        let target = SignalTarget()
        for signal in ignored { sources.append(try onSignal(signal) {}) }
        for signal in forwarded { sources.append(try onSignal(signal) { target.send(signal) }) }
        let child = try spawn(words)
        target.process = child
        await waitUntilEnded(child)
        return try status(of: child)
    }

    /// How a child with collected output ended.
    package struct ChildReport: Sendable {
        /// Exit status; 128 plus the signal's number when a signal ended it.
        package var status: Int32
        /// The kept part of its standard output and standard error.
        package var output: String
        /// Whether it was killed at its time limit.
        package var wasKilled: Bool
    }

    /// Starts a program as `run(_:forwarding:ignoring:)` does, with an empty standard input, and waits for its end.
    ///
    /// - Parameters:
    ///   - words: the program and its arguments.
    ///   - additions: to its environment, by name, up to ``longestVariable`` of each. With additions the child has a process
    ///     group of its own, which is killed as a whole, also when the task is cancelled.
    ///   - limit: time after which it is killed.
    ///   - most: bytes of output that are kept, the rest is read and dropped; nil: it writes where this process does.
    /// - Throws: why it could not be started.
    @ControlPlane
    package func run(
        _ words: [String], adding additions: [String: String]? = nil, within limit: Duration, keeping most: Int?
    ) async throws(SystemError) -> ChildReport {
        var output: ChildOutput?
        defer { output?.close() }
        let child: pid_t
        if let most {
            var ends: [Int32] = [-1, -1]
            _ = try SystemError.check("socketpair") {
                socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends)
            }
            let kept = ChildOutput(ends[0], most)
            output = kept
            child = try spawn(words, writingTo: ends[1], readBy: kept, adding: additions)
        } else {
            child = try spawn(words, adding: additions)
        }
        let target = additions == nil ? child : -child
        var wasKilled = false
        let timer = schedule(after: limit) {
            wasKilled = true
            kill(target, SIGKILL)
        }
        await withTaskCancellationHandler {
            await waitUntilEnded(child)
        } onCancel: {
            // The child is ours until its status is read below, so no other process has its number. A child without a group
            // of its own is left running.
            if target < 0 { kill(target, SIGKILL) }
        }
        timer.cancel()
        output?.read()
        return ChildReport(
            status: try status(of: child), output: String(decoding: output?.bytes ?? [], as: UTF8.self),
            wasKilled: wasKilled)
    }

    /// - Parameter end: closed here; the child has a copy.
    @ControlPlane
    private func spawn(
        _ words: [String], writingTo end: Int32, readBy output: ChildOutput, adding additions: [String: String]?
    ) throws(SystemError) -> pid_t {
        defer { close(end) }
        output.source = try add(output.descriptor, .readable) { _ in output.read() }
        return try spawn(words, output: end, adding: additions)
    }

    private func status(of child: pid_t) throws(SystemError) -> Int32 {
        var status: Int32 = 0
        _ = try SystemError.check("waitpid") { waitpid(child, &status, 0) }
        // Like WIFSIGNALED, WTERMSIG and WEXITSTATUS, which are macros.
        let signal = status & 0x7F
        return signal != 0 ? 128 + signal : (status >> 8) & 0xFF
    }

    /// - Parameters:
    ///   - output: becomes its standard output and standard error, with an empty standard input; nil keeps ours.
    ///   - additions: to its environment, with a process group of its own and an empty standard input; nil changes nothing.
    private func spawn(
        _ words: [String], output: Int32? = nil, adding additions: [String: String]? = nil
    ) throws(SystemError) -> pid_t {
        guard let program = words.first else { throw SystemError(call: "posix_spawn", code: ENOENT) }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        let group = additions == nil ? 0 : POSIX_SPAWN_SETPGROUP
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | group))
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        if output != nil || additions != nil {
            posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        }
        if let output {
            posix_spawn_file_actions_adddup2(&actions, output, 1)
            posix_spawn_file_actions_adddup2(&actions, output, 2)
        }
        let arguments = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var child = pid_t()
        let code: Int32
        if let additions {
            let entries = environment(adding: additions).map { strdup($0) } + [nil]
            defer { for entry in entries { free(entry) } }
            code = posix_spawnp(&child, program, &actions, &attributes, arguments, entries)
        } else {
            code = posix_spawnp(&child, program, &actions, &attributes, arguments, environ)
        }
        guard code == 0 else { throw SystemError(call: program, code: code) }
        return child
    }

    /// This process's environment with changes: `NAME=value` each.
    private func environment(adding additions: [String: String]) -> [String] {
        var entries: [String] = []
        var next = environ
        while let entry = next.pointee {
            let text = String(cString: entry)
            let name = text.prefix { $0 != "=" }
            if additions[String(name)] == nil { entries.append(text) }
            next += 1
        }
        return entries + additions.sorted { $0.key < $1.key }.map { "\($0.key)=\(Self.bounded($0.value))" }
    }

    private static func bounded(_ value: String) -> Substring {
        let bytes = value.utf8
        guard bytes.count > longestVariable else { return value[...] }
        var end = bytes.index(bytes.startIndex, offsetBy: longestVariable)
        while end.samePosition(in: value.unicodeScalars) == nil { end = bytes.index(before: end) }
        return value[..<end]
    }

    /// Returns when `waitpid` no longer blocks.
    ///
    /// - Parameter watch: adds the child's descriptor to the loop, which the kernel may refuse (`ENOSPC`, epoll_ctl(2)).
    @ControlPlane
    func waitUntilEnded(
        _ child: pid_t,
        watching watch: (Int32, @escaping @ControlPlane (Readiness) -> Void) throws(SystemError) -> DescriptorSource
    ) async {
        let descriptor = btcall_open_process(child)
        guard descriptor >= 0 else { return await pollUntilEnded(child) }
        defer { close(descriptor) }
        var source: DescriptorSource?
        let isWatched: Bool = await withCheckedContinuation { continuation in
            do throws(SystemError) {
                source = try watch(descriptor) { _ in
                    source?.cancel()
                    continuation.resume(returning: true)
                }
            } catch {
                continuation.resume(returning: false)
            }
        }
        if !isWatched { await pollUntilEnded(child) }
    }

    @ControlPlane
    private func waitUntilEnded(_ child: pid_t) async {
        await waitUntilEnded(child) { descriptor, handler throws(SystemError) in
            try add(descriptor, .readable, handler)
        }
    }

    @ControlPlane
    private func pollUntilEnded(_ child: pid_t) async {
        var information = siginfo_t()
        while waitid(P_PID, id_t(child), &information, WEXITED | WNOHANG | WNOWAIT) == 0,
            information._sifields._sigchld.si_pid == 0
        {
            await sleep(for: Self.childInterval)
        }
    }
}

/// Receiver of forwarded signals.
@ControlPlane
private final class SignalTarget {
    var process: pid_t?

    nonisolated init() {}

    func send(_ signal: Int32) {
        if let process { kill(process, signal) }
    }
}

/// The reading end of a child's output.
@ControlPlane
private final class ChildOutput {
    let descriptor: Int32
    private let most: Int
    var source: DescriptorSource?
    private(set) var bytes: [UInt8] = []

    init(_ descriptor: Int32, _ most: Int) {
        self.descriptor = descriptor
        self.most = most
    }

    /// Reads the available output, in pieces: a child that never stops writing does not block the loop.
    func read() {
        var piece = [UInt8](repeating: 0, count: 512)
        for _ in 0..<64 {
            let count = recv(descriptor, &piece, piece.count, Int32(MSG_DONTWAIT))
            if count < 0, errno == EINTR { continue }
            // At its end it stays readable.
            if count == 0 { source?.cancel() }
            guard count > 0 else { return }
            bytes += piece.prefix(min(count, most - bytes.count))
        }
    }

    func close() {
        source?.cancel()
        source = nil
        _ = Glibc.close(descriptor)
    }
}
