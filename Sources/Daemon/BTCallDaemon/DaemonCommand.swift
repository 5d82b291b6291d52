import ALSA
import AudioPaths
import BlueZ
import BluetoothSockets
import BoardControl
import CBTCall
import Configuration
import ControlLoop
import DBus
import Glibc
import HeadsetControl
import Logging
import Spelling

/// The program `btcalld`: arguments, logging, signals and service manager.
package enum DaemonCommand {
    private static let program = ServiceProgram("btcalld")

    private struct Arguments {
        var configuration: String?
        var bus = BusAddress.system
        var isForeground = false
        var isCheck = false
        var checked: String?
        var triesDevices = false
    }

    /// The text of `--help`.
    package static let usage = """
        usage: btcalld [--config FILE] [--bus system|session|ADDRESS] [--foreground]
               btcalld --check [FILE] [--devices]
                                         reads a configuration with its quirks, or a quirks file, and reports every mistake;
                                         --devices opens its sound cards for a moment
               btcalld --example         prints a configuration with every key explained
               btcalld --version
        The configuration is /etc/btcall/btcalld.conf unless --config names another; without --config the daemon also
        starts when that file does not exist. --foreground logs to standard error, also under a service manager.
        Exit status: 0 ended by a signal, or the file is valid and its devices open; 1 could not start, a mistake in the
        file, no file, or a device that does not open; 2 wrong arguments.
        """
    private static let standardConfiguration = "/etc/btcall/btcalld.conf"
    /// The most mistakes listed at once.
    private static let mostShown = 50
    private static let hangUp = """
        SIGHUP: the configuration is not read again while btcalld runs: restart it (`systemctl restart btcalld`), or set keys \
        with `btcall config`
        """

    private static let words = [
        "--config", "--bus", "--foreground", "--check", "--devices", "--example", "--version", "--help",
    ]

    /// Runs until SIGTERM or SIGINT; exits with 0 then, with 1 when it could not start, with 2 for wrong arguments.
    ///
    /// SIGHUP does not end it: the log says that the configuration is not read again. Only a daemon that was started at a
    /// terminal ends when that terminal closes, as by SIGTERM.
    package static func run(_ words: [String]) -> Never {
        program.begin()
        // Blocked until the control loop runs and handles it.
        _ = btcall_mask_signal(SIGHUP, 1)
        // alsa-lib locks a mutex in every call unless this setting is made before its first call.
        ALSAEnvironment.prepare()
        let arguments = parse(words)
        if arguments.isCheck { check(arguments) }
        let configuration = read(arguments.configuration)
        LogDestination.bootstrap(
            level: configuration.logLevel, arguments.isForeground ? .standardError : .detected)
        logWarnings(of: configuration, arguments)
        ControlLoop.shared.run { start(configuration, arguments.bus) }
    }

    private static func parse(_ words: [String]) -> Arguments {
        var arguments = Arguments()
        var rest = words.dropFirst()
        while let word = rest.popFirst() {
            switch word {
            case "--config": arguments.configuration = value(of: word, &rest)
            case "--check":
                arguments.isCheck = true
                if rest.first?.hasPrefix("-") == false { arguments.checked = rest.popFirst() }
            case "--devices": arguments.triesDevices = true
            case "--bus":
                let text = value(of: word, &rest)
                guard let address = BusAddress(text) else {
                    program.fail(
                        2, "--bus \(text) is not accepted: system, session or an address such as unix:path=/run/bus")
                }
                arguments.bus = address
            case "--foreground": arguments.isForeground = true
            case "--example":
                print(ConfigurationExample.text, terminator: "")
                exit(0)
            case "--version":
                print("btcalld \(Daemon.version)")
                exit(0)
            case "--help", "-h":
                print(usage)
                exit(0)
            default:
                let question = Suggestion.question(for: word, among: Self.words).map { ": \($0)" } ?? ""
                program.fail(2, "unknown argument \(word)\(question)\n\(usage)")
            }
        }
        if arguments.triesDevices, !arguments.isCheck { program.fail(2, "--devices goes with --check\n\(usage)") }
        return arguments
    }

    private static func value(of word: String, _ rest: inout ArraySlice<String>) -> String {
        guard let value = rest.popFirst() else { program.fail(2, "\(word) needs a value\n\(usage)") }
        return value
    }

    /// The configuration to start with; exits after listing all mistakes when it is invalid.
    private static func read(_ file: String?) -> Configuration {
        let isAbsent = file == nil && access(standardConfiguration, F_OK) != 0
        let path = file ?? standardConfiguration
        let (configuration, mistakes) = Configuration.loading(isAbsent ? nil : path)
        guard !mistakes.isEmpty else { return configuration }
        write(mistakes, of: path)
        exit(1)
    }

    /// Logs the warnings of a valid configuration, and that none was found.
    private static func logWarnings(of configuration: Configuration, _ arguments: Arguments) {
        let logger = Logger(label: "btcalld")
        for warning in configuration.warnings { logger.warning("\(warning)") }
        guard arguments.configuration == nil, access(standardConfiguration, F_OK) != 0 else { return }
        logger.notice(
            """
            there is no configuration: no \(standardConfiguration), and no --config. Every key has its default, and no sound card \
            is used: `btcall setup` proposes one
            """)
    }

    /// Lists every mistake on a line of its own, then their number.
    private static func write(_ mistakes: [ConfigurationError], of file: String) {
        let shown = mistakes.prefix(mostShown)
        var text = shown.map { PrintableText.line("\($0)") + "\n" }.joined()
        if mistakes.count > shown.count { text += "… and \(mistakes.count - shown.count) more\n" }
        text += "btcalld: \(mistakes.count == 1 ? "1 mistake" : "\(mistakes.count) mistakes") in \(file)\n"
        LineWriter.standardError.write(PrintableText.document(text))
    }

    private static func check(_ arguments: Arguments) -> Never {
        let file = arguments.checked ?? arguments.configuration ?? standardConfiguration
        if arguments.checked == nil, arguments.configuration == nil, access(file, F_OK) != 0 {
            program.fail(
                1,
                """
                there is no configuration: \(file) does not exist, and neither --check nor --config names another file; \
                `btcalld --example` prints one, `btcall setup` proposes one for this board
                """)
        }
        let check = ConfigurationCheck(file)
        for warning in check.warnings {
            LineWriter.standardError.write(PrintableText.line("warning: \(warning)") + "\n")
        }
        if check.mistakes.isEmpty {
            print(PrintableText.line(check.summary))
        } else {
            write(check.mistakes, of: file)
        }
        let status: Int32 = check.mistakes.isEmpty ? 0 : 1
        guard arguments.triesDevices, let configuration = check.configuration else { exit(status) }
        ControlLoop.shared.run {
            let allOpen = tryDevices(configuration, file)
            exit(allOpen ? status : 1)
        }
    }

    /// - Returns: whether all of them opened.
    @ControlPlane
    private static func tryDevices(_ configuration: Configuration, _ file: String) -> Bool {
        let trial = DeviceTrial(
            configuration, paths: ALSAPathOpener(configuration: configuration),
            board: LinuxBoard(logger: Logger(label: "btcalld")))
        let findings = trial.findings()
        if findings.isEmpty {
            print("no sound card to try: \(PrintableText.line(file)) has no valid [device …] section")
        }
        for finding in findings { print(PrintableText.line(finding.text)) }
        return findings.allSatisfy(\.isWell)
    }

    @ControlPlane
    private static func start(_ configuration: Configuration, _ address: BusAddress) {
        let logger = Logger(label: "btcalld")
        do throws(BusError) {
            let bus = try BusConnection(address)
            let registry = DeviceRegistry(bus: bus, logger: logger)
            let opener = SynchronousLinkOpener { headset in
                registry.device(headset).flatMap { registry.adapter(path: $0.adapterPath)?.address }
            }
            var environment = Daemon.Environment(
                paths: ALSAPathOpener(configuration: configuration), opener: opener, board: LinuxBoard(logger: logger)
            ) {
                do throws(AudioLinkError) {
                    try opener.listen()
                    return nil
                } catch {
                    return ("links that headsets open are not taken", "\(error)")
                }
            }
            environment.controllers = ControllerFacts { ControllerInformation.manufacturer(of: $0) }
            environment.radioLinkEnds = RadioLinkMonitor()
            do throws(DaemonError) {
                let daemon = try Daemon(
                    configuration: configuration, bus: bus, registry: registry, environment: environment, logger: logger
                )
                if !daemon.settings.configuration.namesProgram { giveUpPrograms(logger) }
                try run(daemon, logger)
            } catch {
                program.fail(1, "\(error)")
            }
        } catch {
            program.fail(
                1,
                "the message bus (\(address)) cannot be used: \(error.message); start dbus, or name another with --bus")
        }
    }

    /// Forbids the process to start programs, through a library (alsa-lib's `|COMMAND`) or through a vulnerability of
    /// btcalld. systemd cannot do this: it starts the daemon with the same system call.
    private static func giveUpPrograms(_ logger: Logger) {
        guard btcall_forbid_programs(1) != 0 else { return }
        logger.notice("the process can still start programs, although none is configured: \(SystemError("seccomp"))")
    }

    @ControlPlane
    private static func run(_ daemon: Daemon, _ logger: Logger) throws(DaemonError) {
        let reporter = daemon.serviceReporter(ServiceNotifier())
        let end: @ControlPlane () -> Void = {
            Task { @ControlPlane in
                reporter.stopping()
                await daemon.stop()
                ControlLoop.shared.stop()
            }
        }
        do throws(SystemError) {
            for signal in [SIGTERM, SIGINT] { _ = try ControlLoop.shared.onSignal(signal, end) }
            let hasTerminal = isatty(STDIN_FILENO) == 1
            _ = try ControlLoop.shared.onSignal(SIGHUP) {
                guard hasTerminal else { return logger.warning("\(hangUp)") }
                logger.notice("the terminal is closed (SIGHUP): btcalld ends")
                end()
            }
        } catch {
            throw DaemonError(what: "signals cannot be taken: \(error)", remedy: "see the limits of the process")
        }
        Task { @ControlPlane in
            await daemon.start()
            reporter.ready()
        }
    }
}
