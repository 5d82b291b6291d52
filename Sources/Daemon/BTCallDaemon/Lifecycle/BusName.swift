import BTCallAPI
import ControlLoop
import DBus
import Diagnostics
import Logging

/// Takes btcalld's name on the bus, and retries while another process owns it.
@ControlPlane
final class BusName {
    private let bus: BusConnection
    private let pause: Duration
    private let problems: ProblemList
    private let logger: Logger
    private var retry: Timer?

    /// - Parameter pause: time between two attempts.
    init(bus: BusConnection, pause: Duration, problems: ProblemList, logger: Logger) {
        self.bus = bus
        self.pause = pause
        self.problems = problems
        self.logger = logger
    }

    func acquire() async {
        do throws(BusError) {
            try await bus.requestName(BTCallName.bus)
            problems.end("name")
            logger.notice("\(BTCallName.bus) is on the bus")
        } catch {
            let remedy =
                error.hasName(BusError.Name.accessDenied)
                ? "run it as user btcall or root; /usr/share/dbus-1/system.d/org.btcall.conf allows it to them: install btcall again where it is missing"
                : "stop the other daemon; btcalld retries every \(pause)"
            problems.begin(
                "name", what: "the bus does not give btcalld the name \(BTCallName.bus): \(error.message)",
                remedy: remedy)
            retry = ControlLoop.shared.schedule(after: pause) { [weak self] in
                Task { @ControlPlane in await self?.acquire() }
            }
        }
    }

    /// Stops retrying.
    func stop() { retry?.cancel() }

    func release() { bus.releaseName(BTCallName.bus) }
}
