/// Checks how the kernel is set up.
let kernelChecks = [
    DoctorCheck(
        "realtime-throttling", .warning,
        finds: "the kernel gives real-time threads less of its time than usual, or none",
        remedy: "leave them at least half of each period", command: "sysctl kernel.sched_rt_runtime_us=950000"
    ) { system in
        let path = "/proc/sys/kernel/sched_rt_"
        guard let runtime = system.text(path + "runtime_us").flatMap({ Int($0) }),
            let period = system.text(path + "period_us").flatMap({ Int($0) }), period > 0
        else { return .skipped("the kernel has no \(path)runtime_us") }
        // -1 means without limit.
        guard runtime >= 0, runtime < period / 2 else { return .ok }
        return .found([
            DoctorEvidence(
                "real-time threads get \(runtime * 100 / period) per cent of the time",
                seen: "\(path)runtime_us is \(runtime), \(path)period_us is \(period)",
                severity: runtime == 0 ? .fault : nil)
        ])
    }
]
