internal import CBTCall

extension ControlLoop {
    private static let stackBytes = 512 << 10

    /// What a thread runs.
    private final class Work: Sendable {
        let run: @Sendable () -> Void

        init(_ run: @escaping @Sendable () -> Void) {
            self.run = run
        }
    }

    /// Runs what may have to wait for a disk in a thread of its own, which ends with it, and the rest on the loop.
    ///
    /// - Parameters:
    ///   - name: of the thread, at most 15 bytes.
    ///   - work: must not touch anything of the control plane.
    ///   - then: called with the result.
    /// - Returns: false when there is no thread to be had: nothing is called then.
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
