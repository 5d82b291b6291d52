import Glibc
import Testing

/// Properties that a process of its own shows; see Probe.
@Suite(.serialized) struct ProbeTests {
    @Test func `tasks, sleeps and executor preferences need one thread`() throws {
        let report = try Self.probe("tasks")
        #expect(report["sum"] == "\(49 * 50 / 2 + 45)")
        #expect(report["threads"] == "1")
        #expect(report["stopped"] == "1")
    }

    @Test func `without a claim the first job starts one thread for the loop`() throws {
        let report = try Self.probe("background")
        #expect(report["threads"] == "2")
        #expect(report["names"]?.contains("btcall-loop") == true)
        #expect(report["stopped"] == "1")
    }

    @Test func `an idle loop does not wake`() throws {
        let report = try Self.probe("idle")
        // For the end of its own sleep.
        #expect(try #require(report["wakeups"].flatMap { Int($0) }) == 1)
    }

    @Test func `a signal ends the process in an orderly way`() throws {
        #expect(try Self.probe("signal") == ["signal": "\(SIGTERM)", "status": "0"])
    }

    @Test func `a thread beside the loop takes no signal, but its own faults`() throws {
        #expect(
            try Self.probe("thread") == [
                "blocked": "\(SIGTERM),\(SIGINT),\(SIGHUP)", "signal": "\(SIGTERM)", "status": "0",
            ])
    }

    @Test func `without free descriptors a listener waits without spinning, logs it once, and continues`() throws {
        let report = try Self.probe("shortage")
        // It checks two or three times. A spinning listener takes all of the two seconds.
        #expect(try #require(report["busyMilliseconds"].flatMap { Int($0) }) < 200)
        #expect(report["acceptedWithoutRoom"] == "0" && report["linesWithoutRoom"] == "1")
        #expect(report["accepted"] == "1" && report["lines"] == "2")
    }

    /// Runs the probe, which is built beside the tests, and returns its `key=value` lines and its exit status.
    static func probe(_ arguments: String...) throws -> [String: String] {
        var buffer = [CChar](repeating: 0, count: 4096)
        let length = readlink("/proc/self/exe", &buffer, buffer.count - 1)
        let executable = String(decoding: buffer.prefix(max(0, length)).map(UInt8.init(bitPattern:)), as: UTF8.self)
        let directory = executable.split(separator: "/", omittingEmptySubsequences: false).dropLast()
        let path = (directory + ["ControlLoopProbe"]).joined(separator: "/")
        let pipe = try #require(popen(([path] + arguments).joined(separator: " "), "re"))
        var report: [String: String] = [:]
        while fgets(&buffer, Int32(buffer.count), pipe) != nil {
            let bytes = buffer.prefix { $0 != 0 && $0 != 10 }.map(UInt8.init(bitPattern:))
            let line = String(decoding: bytes, as: UTF8.self)
            let parts = line.split(separator: "=", maxSplits: 1)
            if parts.count == 2 { report[String(parts[0])] = String(parts[1]) }
        }
        let status = pclose(pipe)
        if report["stopped"] == nil { report["status"] = "\(status)" }
        return report
    }
}
