import Cameras
import CompanionKit
import ControlLoop
import Glibc

@main
struct Main {
    static func main() {
        let companion = Companion<VideoSettings> { $0.names.complete(with: BoardCameras.names()) }
        companion.run(CommandLine.arguments, endingOn: [SIGTERM, SIGINT, SIGHUP]) { settings, bus, logger in
            let running = try await RunningVideo(settings, system: LinuxCameras(), bus: bus, logger: logger)
            return RunningCompanion { await running.stop() }
        }
    }
}
