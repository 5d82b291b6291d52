package import ControlLoop
import Glibc

/// The kernel's figures for this process, under the names that monitoring systems know.
package struct ProcessFigures: Equatable, Sendable {
    /// In bytes.
    package var residentMemory = 0
    package var openDescriptors = 0
    package var processorTime = Duration.zero
    /// Start time of the daemon.
    package var began = WallClock(milliseconds: 0)

    package init() {}

    /// The current figures; one that cannot be read stays 0.
    package static func now(began: WallClock) -> ProcessFigures {
        var figures = ProcessFigures()
        figures.began = began
        figures.residentMemory = residentPages() * Int(sysconf(Int32(_SC_PAGESIZE)))
        figures.openDescriptors = descriptors()
        var time = timespec()
        if clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0 {
            figures.processorTime = .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
        }
        return figures
    }

    /// The second number of `/proc/self/statm`.
    private static func residentPages() -> Int {
        let descriptor = open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return 0 }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = bytes.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
        let words = bytes.prefix(max(count, 0)).split(separator: UInt8(ascii: " "))
        return words.count > 1 ? Int(String(decoding: words[1], as: UTF8.self)) ?? 0 : 0
    }

    private static func descriptors() -> Int {
        guard let directory = opendir("/proc/self/fd") else { return 0 }
        defer { closedir(directory) }
        var count = 0
        while let entry = readdir(directory) {
            if entry.pointee.d_name.0 != CChar(bitPattern: UInt8(ascii: ".")) { count += 1 }
        }
        // Without the descriptor of the directory itself.
        return max(0, count - 1)
    }

    package func add(to text: inout OpenMetricsText) {
        text.begin("process_resident_memory_bytes", .gauge, unit: "bytes", "Resident memory.")
        text.add(residentMemory)
        text.begin("process_open_fds", .gauge, "Open file descriptors.")
        text.add(openDescriptors)
        text.begin("process_cpu_seconds", .counter, unit: "seconds", "Processor time of all threads.")
        text.add(processorTime)
        text.begin(
            "process_start_time_seconds", .gauge, unit: "seconds", "Start time of the daemon, in seconds since 1970.")
        text.add(Double(began.milliseconds) / 1000)
    }
}
