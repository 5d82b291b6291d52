/// The isolation of all shell code: everything marked with it runs on the thread of `ControlLoop.shared`.
@globalActor
package actor ControlPlane {
    package static let shared = ControlPlane()

    package nonisolated var unownedExecutor: UnownedSerialExecutor { ControlLoop.shared.asUnownedSerialExecutor() }

    /// Enters the isolation from a C callback that the loop's own thread runs.
    ///
    /// A call on another thread is our own mistake and ends the process with a message.
    package static func assumeIsolated<Result>(
        _ body: @ControlPlane () throws -> Result
    ) rethrows -> Result {
        guard ControlLoop.shared.isCurrent else {
            SystemError.abandon("code of the control plane was entered on another thread")
        }
        return try withoutActuallyEscaping(body) { isolated in
            // The same type without its isolation, which the check above has established.
            try unsafeBitCast(isolated, to: (() throws -> Result).self)()
        }
    }
}
