internal import CBTCall
internal import Glibc
internal import Synchronization

/// Writes lines to a descriptor and never waits for who reads them, whatever the flags of the file, which others may share.
///
/// A line that finds no room is lost, and counted; the next one that finds some comes after a line that says how many.
package final class LineWriter: Sendable {
    package static let standardError = LineWriter(2)

    private struct State {
        var lost = 0
        /// The last line was not taken to its end.
        var isCut = false
    }

    private let descriptor: Int32
    private let state = Mutex(State())

    /// - Parameter descriptor: stays the caller's.
    package init(_ descriptor: Int32) {
        self.descriptor = descriptor
    }

    /// - Parameter line: ends with a line feed. No longer than `PIPE_BUF` (4096 bytes) it is not mixed with other lines.
    package func write(_ line: String) {
        state.withLock { state in
            if state.lost > 0 {
                let count = state.lost
                let isTaken = put(
                    "warning btcall.log: \(count) lines were lost: nobody read standard error\n", &state)
                state.lost = isTaken ? 0 : count
            }
            // After a line that is not taken there is none that is: the order would be another.
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
                // A reader that has gone wants no line any more: nothing is lost.
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
    /// Opens /dev/null for those that are closed, so that no other file gets their numbers. To be called before anything
    /// opens a descriptor; where not even that is possible the process ends with status 1.
    package static func open() {
        if btcall_open_standard_descriptors() != 0 { exit(1) }
    }

    /// Makes standard error a file of this process's own that never blocks, for libraries that write to it as well, where it is
    /// a pipe or a terminal that may be opened again; another process's flags stay as they are. Else it is left as it is.
    package static func detachErrors() {
        btcall_detach_descriptor(2)
    }
}

extension SystemError {
    /// Ends the process with a line that says why. For what cannot happen unless the system is broken: a bare trap
    /// of an optimised static binary would say nothing.
    static func abandon(_ reason: String) -> Never {
        LineWriter.standardError.write("btcall: \(reason)\n")
        abort()
    }
}
