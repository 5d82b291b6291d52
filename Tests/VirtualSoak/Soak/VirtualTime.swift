import Glibc

/// What the preloaded `virtual-time.c` tells.
enum VirtualTime {
    private typealias Count = @convention(c) () -> UInt64

    private static func call(_ name: String) -> UInt64? {
        guard let symbol = dlsym(nil, name) else { return nil }
        return unsafeBitCast(symbol, to: Count.self)()
    }

    static var isPreloaded: Bool { dlsym(nil, "virtual_time_jumps") != nil && getenv("VIRTUAL_TIME") != nil }
    /// Bytes allocated and not freed.
    static var allocated: Int { Int(call("virtual_time_allocated") ?? 0) }
    /// How often the clock has jumped.
    static var jumps: Int { Int(call("virtual_time_jumps") ?? 0) }
    /// CPU time of the process in seconds: the one clock that is real.
    static var processorSeconds: Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
