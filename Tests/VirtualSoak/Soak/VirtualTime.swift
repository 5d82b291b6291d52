import Glibc

/// Values from the preloaded `virtual-time.c`.
enum VirtualTime {
    private typealias Count = @convention(c) () -> UInt64

    private static func call(_ name: String) -> UInt64? {
        guard let symbol = dlsym(nil, name) else { return nil }
        return unsafeBitCast(symbol, to: Count.self)()
    }

    static var isPreloaded: Bool { dlsym(nil, "virtual_time_jumps") != nil && getenv("VIRTUAL_TIME") != nil }
    /// Allocated bytes that are not freed.
    static var allocated: Int { Int(call("virtual_time_allocated") ?? 0) }
    /// Number of jumps of the clock.
    static var jumps: Int { Int(call("virtual_time_jumps") ?? 0) }
    /// Processor time of the process in seconds: the only real clock.
    static var processorSeconds: Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
