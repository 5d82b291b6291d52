import ControlLoop
import Glibc
import Logging

/// Hours of calls, headsets and faults in virtual time (Tests/VirtualSoak/README.md). Run by `Tests/VirtualSoak/run`.
@main
enum Soak {
    struct Options {
        var hours = 24
        var seed: UInt64 = 1
        var isTelling = false
        var level = Logger.Level.critical
        var leak: Leak.Kind?
        var stateDirectory = ""

        static let usage = """
            usage: run [--hours N] [--seed N] [--plant descriptor|memory|matchRule] [--tell] [--log LEVEL]
              --hours N   virtual hours, 4 at least (24)
              --seed N    decides the course (1)
              --plant …   leaves something behind with every call: the run has to fail
              --tell      prints what happens
              --log …     prints the daemon's log from that level on
            """

        /// Returns nil for invalid arguments.
        init?(_ words: some Collection<String>) {
            var rest = words[...]
            while let word = rest.popFirst() {
                switch word {
                case "--tell": isTelling = true
                case "--state":
                    guard let path = rest.popFirst() else { return nil }
                    stateDirectory = path
                case "--hours":
                    guard let number = rest.popFirst().flatMap({ Int($0) }), (4...1000).contains(number) else {
                        return nil
                    }
                    hours = number
                case "--seed":
                    guard let number = rest.popFirst().flatMap({ UInt64($0) }) else { return nil }
                    seed = number
                case "--plant":
                    guard let kind = rest.popFirst().flatMap({ Leak.Kind(rawValue: $0) }) else { return nil }
                    leak = kind
                case "--log":
                    guard let level = rest.popFirst().flatMap({ Logger.Level(rawValue: $0) }) else { return nil }
                    self.level = level
                default: return nil
                }
            }
        }
    }

    static func main() {
        signal(SIGPIPE, SIG_IGN)
        guard let options = Options(Array(CommandLine.arguments.dropFirst())[...]) else {
            say(Options.usage)
            exit(64)
        }
        guard VirtualTime.isPreloaded else {
            say("this needs virtual time: run Tests/VirtualSoak/run")
            exit(64)
        }
        LogThreshold.level = options.level
        ControlLoop.shared.run {
            Task { @ControlPlane in
                do {
                    exit(try await run(options) ? 0 : 1)
                } catch {
                    say("failed: \(error)")
                    exit(1)
                }
            }
        }
    }

    @ControlPlane
    private static func run(_ options: Options) async throws -> Bool {
        say("virtual soak: \(options.hours) hours, seed \(options.seed)")
        let box = try await SoakBox(logLevel: options.level, stateDirectory: options.stateDirectory)
        try await box.startProvider()
        let course = Course(
            box, seed: options.seed, isTelling: options.isTelling, leak: options.leak.map { Leak($0) })
        await course.putSettingsBack()
        var measurements: [Measurement] = []
        var total = Course.Counts()
        say(Table.head)
        for number in 1...options.hours {
            let measurement = try await course.hour(number)
            measurements.append(measurement)
            total.add(course.counts)
            say(Table.line(number, course.counts, measurement))
        }
        let (virtual, jumps) = (course.seconds, VirtualTime.jumps)
        await box.stop()
        let findings = try Measurement.judged.map { name, bound, value in
            try FlatnessJudge.judge(name, measurements.map(value), bound: bound)
        }
        say(Table.summary(total, virtual: virtual, jumps: jumps))
        for finding in findings { say(Table.line(finding)) }
        let isFlat = findings.allSatisfy(\.isFlat)
        if !course.violations.isEmpty { say("not ok - \(course.violations.count) of what must hold did not") }
        let isGood = isFlat && course.violations.isEmpty
        say("\(isGood ? "ok" : "not ok") - virtual soak: \(options.hours) hours, seed \(options.seed)")
        return isGood
    }
}

/// Lines for people.
enum Table {
    private static let widths = [4, 6, 8, 9, 7, 9, 8, 12, 8, 6, 12, 10, 10]

    static let head = row([
        "hour", "calls", "talk s", "buttons", "on", "faults", "set", "descriptors", "threads", "rules", "allocated K",
        "anonym. K", "state K",
    ])

    static func line(_ hour: Int, _ counts: Course.Counts, _ held: Measurement) -> String {
        row(
            [
                hour, counts.calls, counts.talkSeconds, counts.buttons, counts.connections, counts.faults,
                counts.settings,
                held.descriptors, held.threads, held.matchRules, held.allocatedKiB, held.anonymousKiB, held.stateKiB,
            ].map(String.init))
    }

    static func summary(_ total: Course.Counts, virtual: Double, jumps: Int) -> String {
        """
        \(total.calls) calls, \(total.talkSeconds) s of talk, \(total.buttons) buttons, \(total.connections) connections, \
        \(total.faults) faults, \(total.settings) settings in \(Int(virtual)) virtual seconds (\(jumps) jumps of the \
        clock, \(Int(VirtualTime.processorSeconds)) s of processor time)
        """
    }

    static func line(_ finding: FlatnessJudge.Finding) -> String {
        let verdict = finding.isFlat ? "ok" : "not ok"
        return """
            \(verdict) - \(finding.name): second quarter \(finding.second), last quarter \(finding.last), at most \
            \(finding.bound) more
            """
    }

    private static func row(_ cells: [String]) -> String {
        zip(cells, widths).map { cell, width in
            String(repeating: " ", count: max(1, width - cell.count)) + cell
        }.joined()
    }
}

extension Course.Counts {
    mutating func add(_ other: Course.Counts) {
        calls += other.calls
        buttons += other.buttons
        connections += other.connections
        faults += other.faults
        settings += other.settings
        talkSeconds += other.talkSeconds
    }
}
