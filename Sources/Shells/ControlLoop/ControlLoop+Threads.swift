internal import CBTCall

extension ControlLoop {
    private static let stackBytes = 512 << 10

    /// A thread's work.
    private final class Work: Sendable {
        let run: @Sendable () -> Void

        init(_ run: @escaping @Sendable () -> Void) {
            self.run = run
        }
    }

    /// Runs work that may block on a disk in a thread of its own, and then `then` on the loop.
    ///
    /// - Parameters:
    ///   - name: of the thread, at most 15 bytes.
    ///   - work: must not touch anything of the control plane.
    ///   - then: called with the result.
    /// - Returns: false if no thread could be started; nothing is called then.
    package static func runBeside<Result: Sendable>(
        _ name: String, _ work: @escaping @Sendable () -> Result, then: @escaping @ControlPlane (Result) -> Void
    ) -> Bool {
        let context = Unmanaged.passRetained(
            Work {
                btcall_set_thread_name(name)
                let result = work()
                Task { @ControlPlane in then(result) }
            })
        let code = btcall_start_thread(
            stackBytes,
            { context in
                guard let context else { return }
                Unmanaged<Work>.fromOpaque(context).takeRetainedValue().run()
            }, context.toOpaque())
        if code != 0 { context.release() }
        return code == 0
    }
}
