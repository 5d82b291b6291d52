/// The isolation of all shell code: everything marked with it runs on the thread of `ControlLoop.shared`.
@globalActor
package actor ControlPlane {
    package static let shared = ControlPlane()

    package nonisolated var unownedExecutor: UnownedSerialExecutor { ControlLoop.shared.asUnownedSerialExecutor() }

    /// Enters the isolation from a C callback that the loop's own thread runs.
    ///
    /// Called on another thread, which is our own mistake, it ends the process with a message.
    package static func assumeIsolated<Result>(
        _ body: @ControlPlane () throws -> Result
    ) rethrows -> Result {
        guard ControlLoop.shared.isCurrent else {
            SystemError.abandon("code of the control plane was entered on another thread")
        }
        return try withoutActuallyEscaping(body) { isolated in
            // The same type without its isolation: the check above has just established it.
            try unsafeBitCast(isolated, to: (() throws -> Result).self)()
        }
    }
}
