import BTCall
import BaresipControl
import CompanionKit
import ControlLoop
import Glibc

@main
struct Main {
    static func main() {
        Companion<BaresipSettings>().run(
            CommandLine.arguments, endingOn: [SIGTERM, SIGINT, SIGHUP]
        ) { settings, bus, logger in
            let provider = BaresipProvider(settings, on: try await CallBridge(bus: bus), logger: logger)
            return RunningCompanion {
                await provider.stop()
            } run: { _ in
                Task { @ControlPlane in await provider.run() }
            }
        }
    }
}
