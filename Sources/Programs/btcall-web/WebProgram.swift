import BTCall
import BTCallAPI
import ControlLoop
import Glibc
import Logging
import WebTokens

/// The program `btcall-web`: its arguments, its log, its signals, its service manager.
enum WebProgram {
    /// Runs until SIGTERM or SIGINT. The exit status is 0 then, 1 if it could not start, 2 for invalid arguments.
    static func run(_ words: [String]) -> Never {
        StandardDescriptors.open()
        StandardDescriptors.detachErrors()
        signal(SIGPIPE, SIG_IGN)
        let arguments: WebArguments
        do throws(WebSettingsError) {
            arguments = try WebArguments(Array(words.dropFirst()))
        } catch {
            fail(2, "\(error)\n\(WebArguments.usage)")
        }
        switch arguments.purpose {
        case .run: break
        case .help: finish(WebArguments.usage)
        case .version: finish("btcall-web \(ProductVersion.current)")
        case .check(let file):
            check(file)
            finish(PrintableText.line("\(file) is understood"))
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
        do throws(WebSettingsError) {
            try arguments.apply(to: &settings)
        } catch {
            fail(2, "\(error)\n\(WebArguments.usage)")
        }
        settings.bus = bus(arguments)
        return settings
    }

    private static func read(_ file: String) -> WebSettings {
        let bytes: [UInt8]
        do throws(FileRefusal) {
            bytes = try ForeignFile.read(file, atMost: WebSettings.mostBytes)
        } catch {
            fail(1, "\(error)")
        }
        do throws(WebSettingsError) {
            var settings = WebSettings()
            try settings.read(bytes, file: file)
            return settings
        } catch {
            fail(1, "\(error)")
        }
    }

    private static func check(_ file: String) {
        do throws(WebSettingsError) {
            _ = try KeyFiles.read(read(file))
        } catch {
            fail(1, "\(error)")
        }
    }

    private static func bus(_ arguments: WebArguments) -> BridgeBus {
        let named = arguments.bus ?? getenv("BTCALL_BUS").map { String(cString: $0) } ?? ""
        if named.isEmpty, arguments.bus == nil { return .system }
        guard let bus = BridgeBus(named) else {
            fail(2, "bus '\(named)' is not accepted; it is system, session or an address such as unix:path=/run/bus")
        }
        return bus
    }

    @ControlPlane
    private static func start(_ settings: WebSettings) {
        Task { @ControlPlane in
            let logger = Logger(label: "btcall-web")
            let running: RunningWeb
            do {
                running = try await RunningWeb(settings, logger: logger)
            } catch {
                fail(1, "\(error)")
            }
            handleSignals(running)
            ServiceNotifier().ready()
        }
    }

    @ControlPlane
    private static func handleSignals(_ running: RunningWeb) {
        let end: @ControlPlane () -> Void = {
            Task { @ControlPlane in
                ServiceNotifier().stopping()
                await running.stop()
                ControlLoop.shared.stop()
            }
        }
        do throws(SystemError) {
            for signal in [SIGTERM, SIGINT] { _ = try ControlLoop.shared.onSignal(signal, end) }
        } catch {
            fail(1, "signals cannot be handled: \(error)")
        }
    }

    private static func finish(_ text: String) -> Never {
        print(text)
        exit(0)
    }

    private static func fail(_ status: Int32, _ message: String) -> Never {
        // The usage has several lines, and a message may quote a file.
        LineWriter.standardError.write(PrintableText.document("btcall-web: \(message)\n"))
        exit(status)
    }
}
