import Cameras
import CompanionKit
import ControlLoop
import Glibc
import Pictures

@main
struct Main {
    static func main() {
        let words = CommandLine.arguments
        GStreamer.prepare()
        let companion = Companion<VideoSettings> { $0.names.complete(with: BoardCameras.names()) }
        companion.run(words, endingOn: [SIGTERM, SIGINT, SIGHUP]) { settings, bus, logger in
            let running = try await RunningVideo(settings, system: LinuxCameras(), bus: bus, logger: logger)
            return RunningCompanion { await running.stop() }
        }
    }
}
