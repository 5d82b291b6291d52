import CompanionKit
import ControlLoop
import Glibc
import Logging
import ProgramSettings

@main
struct Main {
    static func main() {
        // A key that cannot be used is found before the start, and by `--check`.
        let companion = Companion<WebSettings> { settings throws(SettingsError) in _ = try KeyFiles.read(settings) }
        companion.run(CommandLine.arguments, endingOn: [SIGTERM, SIGINT]) { settings, bus, logger in
            var settings = settings
            settings.bus = bus
            let running = try await RunningWeb(settings, logger: logger)
            return RunningCompanion {
                await running.stop()
            } run: { end in
                running.whenIdle {
                    logger.info(
                        "nobody has been connected for five minutes: the next connection starts the program again")
                    end()
                }
            }
        }
    }
}
