import BTCall
import BTCallAPI
import BaresipControl
import ControlLoop
import Glibc
import Logging

/// The program `btcall-baresip`: its arguments, its log, its signals, its service manager.
enum BaresipProgram {
    /// Runs until SIGTERM or SIGINT. The exit status is 0 then, 1 if it could not start, 2 for invalid arguments.
    static func run(_ words: [String]) -> Never {
        StandardDescriptors.open()
        StandardDescriptors.detachErrors()
        signal(SIGPIPE, SIG_IGN)
        let arguments: BaresipArguments
        do throws(BaresipSettingsError) {
            arguments = try BaresipArguments(Array(words.dropFirst()))
        } catch {
            fail(2, "\(error)\n\(BaresipArguments.usage)")
        }
        switch arguments.purpose {
        case .run: break
        case .help: finish(BaresipArguments.usage)
        case .version: finish("btcall-baresip \(ProductVersion.current)")
        case .check(let file):
            _ = read(file)
            finish(PrintableText.line("\(file) is understood"))
        }
        let (settings, bus) = (settings(arguments), bus(arguments))
        LogDestination.bootstrap(
            level: Logger.Level(rawValue: settings.logLevel.rawValue) ?? .info,
            arguments.isForeground ? .standardError : .detected)
        ControlLoop.shared.run { start(settings, bus) }
    }

    private static func settings(_ arguments: BaresipArguments) -> BaresipSettings {
        let standard = BaresipArguments.standardConfiguration
        let isAbsent = arguments.configuration == nil && access(standard, F_OK) != 0
        var settings = isAbsent ? BaresipSettings() : read(arguments.configuration ?? standard)
        do throws(BaresipSettingsError) {
            try arguments.apply(to: &settings)
        } catch {
            fail(2, "\(error)\n\(BaresipArguments.usage)")
        }
        return settings
    }

    private static func read(_ file: String) -> BaresipSettings {
        let bytes: [UInt8]
        do throws(FileRefusal) {
            bytes = try ForeignFile.read(file, atMost: BaresipSettings.mostBytes)
        } catch {
            fail(1, "\(error)")
        }
        do throws(BaresipSettingsError) {
            return try BaresipSettings(reading: bytes, file: file)
        } catch {
            fail(1, "\(error)")
        }
    }

    private static func bus(_ arguments: BaresipArguments) -> BridgeBus {
        let named = arguments.bus ?? getenv("BTCALL_BUS").map { String(cString: $0) } ?? ""
        if named.isEmpty, arguments.bus == nil { return .system }
        guard let bus = BridgeBus(named) else {
            fail(2, "bus '\(named)' is not accepted; it is system, session or an address such as unix:path=/run/bus")
        }
        return bus
    }

    @ControlPlane
    private static func start(_ settings: BaresipSettings, _ bus: BridgeBus) {
        Task { @ControlPlane in
            let bridge: CallBridge
            do throws(BridgeError) {
                bridge = try await CallBridge(bus: bus)
            } catch {
                fail(1, error.message)
            }
            let provider = BaresipProvider(settings, on: bridge, logger: Logger(label: "btcall-baresip"))
            handleSignals(provider)
            ServiceNotifier().ready()
            await provider.run()
        }
    }

    @ControlPlane
    private static func handleSignals(_ provider: BaresipProvider) {
        let end: @ControlPlane () -> Void = {
            Task { @ControlPlane in
                ServiceNotifier().stopping()
                await provider.stop()
                ControlLoop.shared.stop()
            }
        }
        do throws(SystemError) {
            for signal in [SIGTERM, SIGINT, SIGHUP] { _ = try ControlLoop.shared.onSignal(signal, end) }
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
        LineWriter.standardError.write(PrintableText.document("btcall-baresip: \(message)\n"))
        exit(status)
    }
}
