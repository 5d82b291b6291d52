import BTCall
import BTCallDaemon
import BTCallSimulator
import ControlLoop
import Diagnostics
import Glibc
import TestSupport
import Testing

struct WatchdogKeeperTests {
    private typealias Progress = WatchdogKeeper.Progress

    private static func verdicts(_ course: [Progress]) -> [WatchdogKeeper.Verdict] {
        var keeper = WatchdogKeeper()
        return course.map { keeper.look($0) }
    }

    @Test func `Without playback a turn of the loop is enough`() {
        let idle = Progress(isPlaying: false, ticks: 7)
        #expect(Self.verdicts([idle, idle, idle]) == [.alive, .alive, .alive])
    }

    @Test func `While a path plays the thread must have stepped since the last check`() {
        let course = [700, 800, 800, 800, 801].map { Progress(isPlaying: true, ticks: $0) }
        #expect(Self.verdicts(course) == [.alive, .alive, .stalled, .stalled, .alive])
    }

    @Test func `A new path passes its first check, and an ended one is not missed`() {
        let course = [(false, 5), (true, 5), (true, 5), (false, 5), (true, 5), (true, 9)].map {
            Progress(isPlaying: $0.0, ticks: $0.1)
        }
        #expect(Self.verdicts(course) == [.alive, .alive, .stalled, .alive, .alive, .alive])
    }
}

extension DaemonTests {
    /// The notifications to the service manager, at a socket that replaces its own.
    @Suite @ControlPlane struct WatchdogTests {
        private let socket: NotifySocket

        init() throws {
            socket = try NotifySocket("/tmp/btcall-watchdog-\(getpid())-\(UInt32.random(in: 0...UInt32.max))")
        }

        /// The thread of the daemon in the box, until it is blocked.
        @ControlPlane
        private final class Thread {
            private let daemon: Daemon
            private var held: WatchdogKeeper.Progress?
            /// How often the watchdog has checked the blocked thread.
            private(set) var looks = 0

            init(_ daemon: Daemon) { self.daemon = daemon }

            func hold() {
                held = daemon.audioProgress
                looks = 0
            }

            func release() { held = nil }

            var progress: WatchdogKeeper.Progress {
                if held != nil { looks += 1 }
                return held ?? daemon.audioProgress
            }
        }

        @Test func `During a call WATCHDOG is sent while the audio thread steps, and stops when it stalls`()
            async throws
        {
            try await Box.run { box in
                let thread = Thread(box.daemon)
                let reporter = ServiceReporter(
                    notifier: ServiceNotifier(socket: socket.path, watchdogInterval: .milliseconds(1_200)),
                    progress: { thread.progress }, status: { box.daemon.statusLine }, logger: box.log.logger)
                reporter.ready()
                #expect(socket.count("READY=1") == 1)
                #expect(!box.daemon.audioProgress.isPlaying)
                // Idle: nothing steps, which is correct.
                try await eventually("WATCHDOG comes while nothing plays") { socket.count("WATCHDOG=1") >= 3 }
                try await box.prefer(.earpiece)
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                try await box.playing("earpiece")
                #expect(box.daemon.audioProgress.isPlaying)
                let before = socket.count("WATCHDOG=1")
                try await eventually("WATCHDOG comes in a call") { socket.count("WATCHDOG=1") >= before + 5 }

                thread.hold()
                try await eventually("the watchdog has looked") { thread.looks >= 1 }
                // The first check may find steps since the previous one.
                let last = socket.count("WATCHDOG=1")
                try await eventually("it has looked often") { thread.looks >= 6 }
                #expect(socket.count("WATCHDOG=1") == last)
                #expect(box.log.containing("the audio thread stands still").count == 1)

                thread.release()
                try await eventually("WATCHDOG comes again") { socket.count("WATCHDOG=1") >= last + 2 }
                #expect(box.log.containing("the audio thread continues").count == 1)
                reporter.stopping()
                #expect(socket.count("STOPPING=1") == 1)
            }
        }

        @Test func `The status has the state, the device of the calls and the problems, each change once`() async throws
        {
            try await Box.run { box in
                let reporter = box.daemon.serviceReporter(ServiceNotifier(socket: socket.path, watchdogInterval: nil))
                reporter.ready()
                #expect(socket.count("STATUS=active") == 1)
                try await box.prefer(.earpiece)
                let registration = try await box.register()
                let call = try await box.startCall(registration)
                try await eventually("the route") { socket.count("STATUS=active; audio on earpiece") == 1 }
                try await registration.update(call, .ended)
                try await eventually("and its end") { socket.count("STATUS=active") == 2 }
                box.daemon.problems.begin("test", what: "something", remedy: "nothing")
                #expect(socket.count("STATUS=active; 1 problem: see btcall status") == 1)
                #expect(socket.count("WATCHDOG=1") == 0)
                reporter.stopping()
            }
        }

        @Test func `The program sends READY, WATCHDOG and STOPPING`() async throws {
            let daemon = try await DaemonProcess(hasBluetooth: true)
            try await daemon.start(environment: ["NOTIFY_SOCKET=\(socket.path)", "WATCHDOG_USEC=400000"])
            try await eventually("READY and WATCHDOG come") {
                socket.count("READY=1") == 1 && socket.count("WATCHDOG=1") >= 3
            }
            #expect(socket.messages.first == "READY=1")
            #expect(socket.messages.contains { $0.hasPrefix("STATUS=active") })
            try await daemon.stop()
            #expect(socket.count("STOPPING=1") == 1)
        }
    }
}
