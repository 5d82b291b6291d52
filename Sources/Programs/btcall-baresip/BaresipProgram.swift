import BTCall
import BTCallAPI
import BaresipControl
import ControlLoop
import Glibc
import Logging
import ProgramSettings

/// The program `btcall-baresip`: its arguments, its log, its signals, its service manager.
enum BaresipProgram {
    private static let program = ServiceProgram("btcall-baresip")

    /// Runs until SIGTERM or SIGINT. The exit status is 0 then, 1 if it could not start, 2 for invalid arguments.
    static func run(_ words: [String]) -> Never {
        program.begin()
        let arguments: BaresipArguments
        do throws(SettingsError) {
            arguments = try BaresipArguments(Array(words.dropFirst()))
        } catch {
            program.fail(2, "\(error)\n\(BaresipArguments.usage)")
        }
        switch arguments.purpose {
        case .run: break
        case .help: program.finish(BaresipArguments.usage)
        case .version: program.finish("btcall-baresip \(ProductVersion.current)")
        case .check(let file):
            _ = read(file)
            program.finish(PrintableText.line("\(file) is understood"))
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
        do throws(SettingsError) {
            try arguments.apply(to: &settings)
        } catch {
            program.fail(2, "\(error)\n\(BaresipArguments.usage)")
        }
        return settings
    }

    private static func read(_ file: String) -> BaresipSettings {
        let bytes = program.read(file, atMost: BaresipSettings.mostBytes)
        do throws(SettingsError) {
            return try BaresipSettings(reading: bytes, file: file)
        } catch {
            program.fail(1, "\(error)")
        }
    }

    private static func bus(_ arguments: BaresipArguments) -> BridgeBus {
        do throws(BridgeError) {
            return try .named(arguments.bus)
        } catch {
            program.fail(2, error.message)
        }
    }

    @ControlPlane
    private static func start(_ settings: BaresipSettings, _ bus: BridgeBus) {
        Task { @ControlPlane in
            let bridge: CallBridge
            do throws(BridgeError) {
                bridge = try await CallBridge(bus: bus)
            } catch {
                program.fail(1, error.message)
            }
            let provider = BaresipProvider(settings, on: bridge, logger: Logger(label: "btcall-baresip"))
            program.ready(endingOn: [SIGTERM, SIGINT, SIGHUP]) { await provider.stop() }
            await provider.run()
        }
    }
}
