import Foundation
import Glibc

/// A thread for tasks that prefer it: a program with several threads uses the library like this.
///
/// Jobs arrive through a pipe, whose order the thread sanitizer knows. `stop()` ends the thread.
final class ThreadExecutor: TaskExecutor {
    private let reading: Int32
    private let writing: Int32

    init() throws {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        (reading, writing) = (ends[0], ends[1])
        Thread.detachNewThread { [self] in run() }
    }

    /// Called after its tasks have ended.
    func stop() { close(writing) }

    func enqueue(_ job: consuming ExecutorJob) {
        var word = unsafeBitCast(UnownedJob(job), to: UInt.self)
        // A pipe holds thousands of jobs, and a task has one at a time.
        guard write(writing, &word, MemoryLayout<UInt>.size) == MemoryLayout<UInt>.size else { abort() }
    }

    private func run() {
        var word: UInt = 0
        while read(reading, &word, MemoryLayout<UInt>.size) == MemoryLayout<UInt>.size {
            unsafeBitCast(word, to: UnownedJob.self).runSynchronously(on: asUnownedTaskExecutor())
        }
        close(reading)
    }
}
