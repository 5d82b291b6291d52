import BTCall
import BTCallAPI
import ControlLoop
import Glibc
import Logging
import ProgramSettings
import WebTokens

/// The program `btcall-web`: its arguments, its log, its signals, its service manager.
enum WebProgram {
    private static let program = ServiceProgram("btcall-web")

    /// Runs until SIGTERM or SIGINT. The exit status is 0 then, 1 if it could not start, 2 for invalid arguments.
    static func run(_ words: [String]) -> Never {
        program.begin()
        let arguments: WebArguments
        do throws(SettingsError) {
            arguments = try WebArguments(Array(words.dropFirst()))
        } catch {
            program.fail(2, "\(error)\n\(WebArguments.usage)")
        }
        switch arguments.purpose {
        case .run: break
        case .help: program.finish(WebArguments.usage)
        case .version: program.finish("btcall-web \(ProductVersion.current)")
        case .check(let file):
            check(file)
            program.finish(PrintableText.line("\(file) is understood"))
        }
        let settings = settings(arguments)
        LogDestination.bootstrap(
            level: Logger.Level(rawValue: settings.logLevel.rawValue) ?? .info,
            arguments.isForeground ? .standardError : .detected)
        holdSignals()
        ControlLoop.shared.run { start(settings) }
    }

    /// Before the first thread of swift-nio, which would end the program at a signal: the control loop reads them.
    private static func holdSignals() {
        var held = sigset_t()
        sigemptyset(&held)
        for signal in [SIGTERM, SIGINT] { sigaddset(&held, signal) }
        pthread_sigmask(SIG_BLOCK, &held, nil)
    }

    private static func settings(_ arguments: WebArguments) -> WebSettings {
        let standard = WebArguments.standardConfiguration
        let isAbsent = arguments.configuration == nil && access(standard, F_OK) != 0
        var settings = isAbsent ? WebSettings() : read(arguments.configuration ?? standard)
        do throws(SettingsError) {
            try arguments.apply(to: &settings)
        } catch {
            program.fail(2, "\(error)\n\(WebArguments.usage)")
        }
        settings.bus = bus(arguments)
        return settings
    }

    private static func read(_ file: String) -> WebSettings {
        let bytes = program.read(file, atMost: WebSettings.mostBytes)
        do throws(SettingsError) {
            var settings = WebSettings()
            try settings.read(bytes, file: file)
            return settings
        } catch {
            program.fail(1, "\(error)")
        }
    }

    private static func check(_ file: String) {
        do throws(SettingsError) {
            _ = try KeyFiles.read(read(file))
        } catch {
            program.fail(1, "\(error)")
        }
    }

    private static func bus(_ arguments: WebArguments) -> BridgeBus {
        do throws(BridgeError) {
            return try .named(arguments.bus)
        } catch {
            program.fail(2, error.message)
        }
    }

    @ControlPlane
    private static func start(_ settings: WebSettings) {
        Task { @ControlPlane in
            let logger = Logger(label: "btcall-web")
            let running: RunningWeb
            do {
                running = try await RunningWeb(settings, logger: logger)
            } catch {
                program.fail(1, "\(error)")
            }
            let end = program.ready(endingOn: [SIGTERM, SIGINT]) { await running.stop() }
            running.whenIdle {
                logger.info("nobody has been connected for five minutes: the next connection starts the program again")
                end()
            }
        }
    }
}
