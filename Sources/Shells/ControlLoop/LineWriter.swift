internal import CBTCall
internal import Glibc
internal import Synchronization

/// Writes lines to a descriptor and never waits for the reader, whatever the file's flags are, which other processes may
/// share.
///
/// A line without room is lost, and counted; before the next line with room comes a line with the count.
package final class LineWriter: Sendable {
    package static let standardError = LineWriter(2)

    private struct State {
        var lost = 0
        /// Whether the last line was written only in part.
        var isCut = false
    }

    private let descriptor: Int32
    private let state = Mutex(State())

    /// - Parameter descriptor: remains the caller's.
    package init(_ descriptor: Int32) {
        self.descriptor = descriptor
    }

    /// - Parameter line: ends with a line feed. Up to `PIPE_BUF` (4096 bytes) it is not mixed with other lines.
    package func write(_ line: String) {
        state.withLock { state in
            if state.lost > 0 {
                let count = state.lost
                let isTaken = put(
                    "warning btcall.log: \(count) lines were lost: nobody read standard error\n", &state)
                state.lost = isTaken ? 0 : count
            }
            // Once a line is not taken, later ones are not tried: the order would change.
            if state.lost > 0 || !put(line, &state) { state.lost += 1 }
        }
    }

    /// - Returns: false when the reader has no room for all of it.
    private func put(_ line: String, _ state: inout State) -> Bool {
        var rest = Array(((state.isCut ? "\n" : "") + line).utf8)[...]
        let count = rest.count
        while !rest.isEmpty {
            let written = rest.withUnsafeBytes { btcall_write_now(descriptor, $0.baseAddress, $0.count) }
            guard written > 0 else {
                // A reader that has gone wants no more lines: nothing is lost.
                if written < 0, errno != EAGAIN, errno != ENOBUFS { return true }
                if rest.count < count { state.isCut = true }
                return false
            }
            rest = rest.dropFirst(written)
        }
        state.isCut = false
        return true
    }
}

/// The descriptors 0, 1 and 2 of a process.
package enum StandardDescriptors {
    /// Opens /dev/null for those that are closed, so that no other file gets their numbers. Call this before anything opens
    /// a descriptor; if even that fails, the process ends with status 1.
    package static func open() {
        if btcall_open_standard_descriptors() != 0 { exit(1) }
    }

    /// Reopens standard error as a file of this process's own that never blocks, also for libraries that write to it, if it
    /// is a pipe or a terminal that can be reopened; flags shared with other processes stay unchanged. Otherwise it is left
    /// alone.
    package static func detachErrors() {
        btcall_detach_descriptor(2)
    }
}

extension SystemError {
    /// Ends the process with a line that says why. Only for errors of a broken system: a bare trap of an optimised static
    /// binary would say nothing.
    static func abandon(_ reason: String) -> Never {
        LineWriter.standardError.write("btcall: \(reason)\n")
        abort()
    }
}
