import Glibc

/// How often other threads than this one have asked for memory: known only with `allocation-counter.so` preloaded
/// (Tests/Benchmarks).
enum AllocationCounter {
    /// Not counted is what the calling thread allocates from here on.
    static func excludeThisThread() { exclude?() }

    /// Since the program began, of all threads that are not excluded; nil when nobody counts.
    static var count: Int? { counter.map { Int($0()) } }

    private static let counter: (@convention(c) () -> UInt64)? = dlsym(nil, "btcall_allocations").map {
        unsafeBitCast($0, to: (@convention(c) () -> UInt64).self)
    }
    private static let exclude: (@convention(c) () -> Void)? = dlsym(nil, "btcall_exclude_thread").map {
        unsafeBitCast($0, to: (@convention(c) () -> Void).self)
    }
}
