internal import CBTCall
internal import Glibc

extension ControlLoop {
    /// Between two looks at a child, where the kernel cannot say when it ends (before Linux 5.3).
    private static let childInterval = Duration.milliseconds(50)

    /// Starts a program, found along PATH, with this process's standard descriptors and environment and with no signal
    /// blocked, and waits for its end.
    ///
    /// - Parameters:
    ///   - words: the program and its arguments.
    ///   - forwarded: signals that end the child in place of this process, while it runs.
    ///   - ignored: signals that a terminal sends to the child itself.
    /// - Returns: what it exited with; 128 and the signal's number when a signal ended it.
    /// - Throws: why it could not be started: `ENOENT`, `EACCES`.
    @ControlPlane
    package func run(
        _ words: [String], forwarding forwarded: [Int32] = [], ignoring ignored: [Int32] = []
    ) async throws(SystemError) -> Int32 {
        var sources: [SignalSource] = []
        defer { for source in sources { source.cancel() } }
        // Taken before there is a child that could cause one; they are delivered after this has begun to wait.
        let target = SignalTarget()
        for signal in ignored { sources.append(try onSignal(signal) {}) }
        for signal in forwarded { sources.append(try onSignal(signal) { target.send(signal) }) }
        let child = try spawn(words)
        target.process = child
        await waitUntilEnded(child)
        var status: Int32 = 0
        _ = try SystemError.check("waitpid") { waitpid(child, &status, 0) }
        // As WIFSIGNALED, WTERMSIG and WEXITSTATUS, which are macros.
        let signal = status & 0x7F
        return signal != 0 ? 128 + signal : (status >> 8) & 0xFF
    }

    private func spawn(_ words: [String]) throws(SystemError) -> pid_t {
        guard let program = words.first else { throw SystemError(call: "posix_spawn", code: ENOENT) }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        let arguments = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var child = pid_t()
        let code = posix_spawnp(&child, program, nil, &attributes, arguments, environ)
        guard code == 0 else { throw SystemError(call: program, code: code) }
        return child
    }

    @ControlPlane
    private func waitUntilEnded(_ child: pid_t) async {
        let descriptor = btcall_open_process(child)
        guard descriptor >= 0 else { return await pollUntilEnded(child) }
        defer { close(descriptor) }
        var source: DescriptorSource?
        await withCheckedContinuation { continuation in
            do throws(SystemError) {
                source = try add(descriptor, .readable) { _ in
                    source?.cancel()
                    continuation.resume()
                }
            } catch {
                // Then the wait that follows is a blocking one.
                continuation.resume()
            }
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

/// Whom signals are passed on to.
@ControlPlane
private final class SignalTarget {
    var process: pid_t?

    nonisolated init() {}

    func send(_ signal: Int32) {
        if let process { kill(process, signal) }
    }
}
