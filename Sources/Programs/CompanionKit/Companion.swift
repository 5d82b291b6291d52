package import BTCall
import BTCallAPI
package import ControlLoop
import Glibc
package import Logging
package import ProgramSettings

/// The start of a program beside btcalld: its arguments, its file, its bus, its log, its control loop.
package struct Companion<Settings: CompanionSettings> {
    private let program = ServiceProgram(Settings.program)
    private let complete: @Sendable (inout Settings) throws(SettingsError) -> Void

    /// - Parameter complete: what the settings need beyond the file, for example other files that it names. It throws what
    ///   `--check` is to say.
    package init(complete: @escaping @Sendable (inout Settings) throws(SettingsError) -> Void = { _ in }) {
        self.complete = complete
    }

    /// Runs until one of the signals. The exit status is 0 then, 1 if the program could not start, 2 for invalid arguments.
    ///
    /// The signals are blocked in all threads: only the control loop takes them.
    ///
    /// - Parameters:
    ///   - words: with the name of the program.
    ///   - start: starts the parts on the control loop. What it throws is the program's last message.
    package func run(
        _ words: [String], endingOn signals: [Int32],
        start: @escaping @ControlPlane (Settings, BridgeBus, Logger) async throws -> RunningCompanion
    ) -> Never {
        program.begin()
        let arguments: ProgramArguments<Settings>
        do throws(SettingsError) {
            arguments = try ProgramArguments(Array(words.dropFirst()))
        } catch {
            misuse(error)
        }
        switch arguments.purpose {
        case .run: break
        case .help: program.finish(Settings.usage)
        case .version: program.finish("\(Settings.program) \(ProductVersion.current)")
        case .check(let file):
            _ = completed(read(file))
            program.finish(PrintableText.line("\(file) is understood"))
        }
        let (settings, bus) = (settings(arguments), bus(arguments))
        LogDestination.bootstrap(
            level: Logger.Level(rawValue: settings.logLevel.rawValue) ?? .info,
            arguments.isForeground ? .standardError : .detected)
        hold(signals)
        ControlLoop.shared.run { begin(settings, bus, signals, start) }
    }

    /// Before the first thread of a library, which would end the program at a signal.
    private func hold(_ signals: [Int32]) {
        var held = sigset_t()
        sigemptyset(&held)
        for signal in signals { sigaddset(&held, signal) }
        pthread_sigmask(SIG_BLOCK, &held, nil)
    }

    @ControlPlane
    private func begin(
        _ settings: Settings, _ bus: BridgeBus, _ signals: [Int32],
        _ start: @escaping @ControlPlane (Settings, BridgeBus, Logger) async throws -> RunningCompanion
    ) {
        Task { @ControlPlane in
            let running: RunningCompanion
            do {
                running = try await start(settings, bus, Logger(label: Settings.program))
            } catch {
                program.fail(1, (error as? BridgeError)?.message ?? "\(error)")
            }
            let end = program.ready(endingOn: signals, running.stop)
            running.run(end)
        }
    }

    private func misuse(_ error: SettingsError) -> Never {
        program.fail(2, "\(error)\n\(Settings.usage)")
    }

    private func settings(_ arguments: ProgramArguments<Settings>) -> Settings {
        let isAbsent = arguments.configuration == nil && access(Settings.standardFile, F_OK) != 0
        var settings = isAbsent ? Settings() : read(arguments.configuration ?? Settings.standardFile)
        do throws(SettingsError) {
            try arguments.apply(to: &settings)
        } catch {
            misuse(error)
        }
        return completed(settings)
    }

    private func read(_ file: String) -> Settings {
        let bytes = program.read(file, atMost: Settings.mostBytes)
        do throws(SettingsError) {
            return try Settings(reading: bytes, file: file)
        } catch {
            program.fail(1, "\(error)")
        }
    }

    private func completed(_ settings: Settings) -> Settings {
        var settings = settings
        do throws(SettingsError) {
            try complete(&settings)
        } catch {
            program.fail(1, "\(error)")
        }
        return settings
    }

    private func bus(_ arguments: ProgramArguments<Settings>) -> BridgeBus {
        do throws(BridgeError) {
            return try .named(arguments.bus)
        } catch {
            program.fail(2, error.message)
        }
    }
}

/// What a program has started.
@ControlPlane
package struct RunningCompanion {
    let stop: @ControlPlane () async -> Void
    let run: @ControlPlane (_ end: @escaping @ControlPlane () -> Void) -> Void

    /// - Parameters:
    ///   - stop: what to do before the end.
    ///   - run: what to do once the service manager knows that the program is ready; its argument ends the program.
    package init(
        stop: @escaping @ControlPlane () async -> Void,
        run: @escaping @ControlPlane (_ end: @escaping @ControlPlane () -> Void) -> Void = { _ in }
    ) {
        self.stop = stop
        self.run = run
    }
}
