import BluetoothTypes
import CBTCall
import ControlLoop
import DBus
import Glibc
import Logging
import Synchronization

/// A small program for properties that only a process of its own can show: threads, memory, wake-ups, end.
@main
enum Probe {
    static func main() {
        let arguments = Array(CommandLine.arguments.dropFirst())
        switch arguments.first {
        case "tasks": run { await tasks() }
        case "background": background()
        case "idle": run { await idle() }
        case "signal": signal()
        case "thread": thread()
        case "shortage": run { await shortage() }
        case "bus" where arguments.count == 2: run { await bus(arguments[1]) }
        default:
            print("usage: ControlLoopProbe tasks|background|idle|signal|thread|shortage|bus ADDRESS")
            exit(64)
        }
    }

    /// On the main thread, like the daemon.
    private static func run(_ body: @escaping @ControlPlane () async -> Void) {
        ControlLoop.shared.runUntilStopped {
            Task { @ControlPlane in
                await body()
                ControlLoop.shared.stop()
            }
        }
        report("stopped", 1)
    }

    private static func report(_ key: String, _ value: some CustomStringConvertible) {
        print("\(key)=\(value)")
        fflush(nil)
    }

    private static func tasks() async {
        await exercise()
        report("threads", threads().count)
    }

    @ControlPlane
    private static func exercise() async {
        await ControlLoop.shared.sleep(for: .milliseconds(5))
        let children = (0..<50).map { index in
            Task { @ControlPlane in
                await ControlLoop.shared.sleep(for: .milliseconds(index % 7))
                return index
            }
        }
        var sum = 0
        for child in children { sum += await child.value }
        let soFar = sum
        let elsewhere = Task(executorPreference: ControlLoop.shared) { await nowhere(soFar) }
        sum = await elsewhere.value
        await withTaskGroup(of: Int.self) { group in
            for index in 0..<10 { group.addTask { @ControlPlane in index } }
            for await value in group { sum += value }
        }
        report("sum", sum)
    }

    @concurrent
    private static func nowhere(_ value: Int) async -> Int {
        await ControlLoop.shared.sleep(for: .milliseconds(1))
        return value
    }

    private static func background() {
        ControlLoop.shared.replaceGlobalExecutor()
        Task { @ControlPlane in
            await exercise()
            report("threads", threads().count)
            report("names", threads().sorted().joined(separator: ","))
            ControlLoop.shared.stop()
        }
        // The loop has its own thread by now: this one only waits.
        ControlLoop.shared.runUntilStopped()
        report("stopped", 1)
    }

    /// Sleeps once for half a second, with a timer far away and a quiet descriptor, and counts the wake-ups.
    @ControlPlane
    private static func idle() async {
        var pair: [Int32] = [0, 0]
        pipe(&pair)
        let source = try? ControlLoop.shared.add(pair[0], .readable) { _ in }
        ControlLoop.shared.schedule(after: .seconds(3600)) {}
        // The least of three: a page that the kernel has to load is not the loop's fault.
        var wakeUps: [Int] = []
        for _ in 1...3 {
            let cancelled = ControlLoop.shared.schedule(after: .milliseconds(100)) {}
            cancelled.cancel()
            let before = switches()
            await ControlLoop.shared.sleep(for: .milliseconds(300))
            wakeUps.append(Int(switches() - before))
        }
        report("wakeups", wakeUps.min() ?? -1)
        source?.cancel()
    }

    private static func signal() {
        ControlLoop.shared.run { awaitTermination() }
    }

    /// Handles a signal, which this process then gets.
    @ControlPlane
    private static func awaitTermination() {
        do throws(SystemError) {
            _ = try ControlLoop.shared.onSignal(SIGTERM) {
                report("signal", SIGTERM)
                ControlLoop.shared.stop()
            }
        } catch {
            report("error", error)
        }
        kill(getpid(), SIGTERM)
    }

    /// A signal comes that the loop has begun to handle after another thread was started.
    private static func thread() {
        ControlLoop.shared.run {
            var ends: [Int32] = [0, 0]
            pipe(&ends)
            let (reader, writer) = (ends[0], ends[1])
            let isStarted = ControlLoop.runBeside(
                "probe",
                {
                    var set = sigset_t()
                    pthread_sigmask(SIG_BLOCK, nil, &set)
                    let blocked = [SIGTERM, SIGINT, SIGHUP, SIGSEGV, SIGABRT].filter { sigismember(&set, $0) == 1 }
                    report("blocked", blocked.map { "\($0)" }.joined(separator: ","))
                    close(writer)
                    // Until the process ends.
                    poll(nil, 0, -1)
                }, then: { _ in })
            var byte: UInt8 = 0
            if isStarted { _ = read(reader, &byte, 1) }
            awaitTermination()
        }
    }

    /// A client connects while no descriptor is free, and is accepted as soon as one is free again.
    @ControlPlane
    private static func shortage() async {
        let name = Array("\0btcall-probe-\(getpid())".utf8)
        let listening = local(name) { bind($0, $1, $2) == 0 ? listen($0, 4) : -1 }
        let counter = Counter()
        let logger = Logger(label: "probe") { _ in CountingHandler(counter: counter) }
        var accepted: [Int32] = []
        do throws(SystemError) {
            let listener = try Listener(listening, "the probe", logger: logger) { accepted.append($0) }
            // The client has its descriptor already, and these take all the others.
            let client = local(name) { _, _, _ in 0 }
            var limit = rlimit(rlim_cur: 64, rlim_max: 64)
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            var taken: [Int32] = []
            while case let one = dup(0), one >= 0 { taken.append(one) }
            _ = connect(client, name)
            let before = processorMilliseconds()
            await ControlLoop.shared.sleep(for: .milliseconds(2300))
            report("busyMilliseconds", processorMilliseconds() - before)
            report("acceptedWithoutRoom", accepted.count)
            report("linesWithoutRoom", counter.count.load(ordering: .relaxed))
            for one in taken { close(one) }
            for _ in 0..<100 where accepted.isEmpty { await ControlLoop.shared.sleep(for: .milliseconds(100)) }
            report("accepted", accepted.count)
            report("lines", counter.count.load(ordering: .relaxed))
            listener.cancel()
        } catch {
            report("error", error)
        }
    }

    /// Opens a stream socket of the abstract name and uses it.
    private static func local(
        _ name: [UInt8], _ use: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
        return with(name) { use(descriptor, $0, $1) } == 0 ? descriptor : -1
    }

    private static func connect(_ descriptor: Int32, _ name: [UInt8]) -> Int32 {
        with(name) { Glibc.connect(descriptor, $0, $1) }
    }

    private static func with(_ name: [UInt8], _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sa_family_t>.size + name.count))
            }
        }
    }

    private static func processorMilliseconds() -> Int {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return time.tv_sec * 1000 + time.tv_nsec / 1_000_000
    }

    /// Calls per second of the bus' own `GetId`, one after the other and with 32 in flight, then the footprint.
    @ControlPlane
    private static func bus(_ address: String) async {
        do throws(BusError) {
            let bus = try BusConnection(.address(address))
            report("callsPerSecond", Int(try await rate(bus, inFlight: 1)))
            report("callsPerSecondInFlight", Int(try await rate(bus, inFlight: 32)))
            bus.close()
        } catch {
            report("error", error)
        }
        report("threads", threads().count)
        report("rssAnonKiB", status("/proc/self/status", "RssAnon:"))
    }

    @ControlPlane
    private static func rate(_ bus: BusConnection, inFlight: Int) async throws(BusError) -> Double {
        let count = 3200
        let start = ControlLoop.now
        let workers = (0..<inFlight).map { _ in
            Task { @ControlPlane in
                for _ in 0..<count / inFlight {
                    _ = try await bus.call(
                        "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "GetId")
                }
            }
        }
        for worker in workers {
            if case .failure(let error) = await worker.result { throw error as? BusError ?? .failed("\(error)") }
        }
        return Double(count) / (Double(start.duration(to: ControlLoop.now).nanoseconds) / 1e9)
    }

    /// The names of this process's threads.
    private static func threads() -> [String] {
        var names: [String] = []
        guard let directory = opendir("/proc/self/task") else { return names }
        defer { closedir(directory) }
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name.first != "." { names.append(line("/proc/self/task/\(name)/comm")) }
        }
        return names
    }

    private static func switches() -> Int { status("/proc/thread-self/status", "voluntary_ctxt_switches:") }

    private static func status(_ path: String, _ key: String) -> Int {
        guard let file = fopen(path, "r") else { return -1 }
        defer { fclose(file) }
        var buffer = [CChar](repeating: 0, count: 256)
        while fgets(&buffer, Int32(buffer.count), file) != nil {
            let text = String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
            guard text.hasPrefix(key) else { continue }
            return Int(text.dropFirst(key.count).filter(\.isNumber)) ?? -1
        }
        return -1
    }

    private static func line(_ path: String) -> String {
        guard let file = fopen(path, "r") else { return "" }
        defer { fclose(file) }
        var buffer = [CChar](repeating: 0, count: 64)
        guard fgets(&buffer, Int32(buffer.count), file) != nil else { return "" }
        return String(decoding: buffer.prefix { $0 != 0 && $0 != 10 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}

/// Counts log messages.
private struct CountingHandler: LogHandler {
    let counter: Counter
    var logLevel = Logger.Level.trace
    var metadata: Logger.Metadata = [:]

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { counter.count.add(1, ordering: .relaxed) }
}

private final class Counter: Sendable {
    let count = Atomic<Int>(0)
}
