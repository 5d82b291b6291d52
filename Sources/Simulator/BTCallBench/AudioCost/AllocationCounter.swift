import Glibc

/// Allocation count of all threads but excluded ones: available only with `allocation-counter.so` preloaded
/// (Tests/Benchmarks).
enum AllocationCounter {
    /// Excludes future allocations of the calling thread.
    static func excludeThisThread() { exclude?() }

    /// Allocations since the program began, by all threads that are not excluded; nil without the preloaded library.
    static var count: Int? { counter.map { Int($0()) } }

    private static let counter: (@convention(c) () -> UInt64)? = dlsym(nil, "btcall_allocations").map {
        unsafeBitCast($0, to: (@convention(c) () -> UInt64).self)
    }
    private static let exclude: (@convention(c) () -> Void)? = dlsym(nil, "btcall_exclude_thread").map {
        unsafeBitCast($0, to: (@convention(c) () -> Void).self)
    }
}
