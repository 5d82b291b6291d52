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

/// The program `btcalld`: its arguments, its logs, its signals, its service manager.
package enum DaemonCommand {
    private struct Arguments {
        var configuration: String?
        var bus = BusAddress.system
        var isForeground = false
        var checked: String?
    }

    /// What `--help` prints.
    package static let usage = """
        usage: btcalld [--config FILE] [--bus system|session|ADDRESS] [--foreground]
               btcalld --check FILE      reads a configuration with its quirks, or a quirks file, and says what is wrong
               btcalld --example         prints a configuration with every key explained
               btcalld --version
        The configuration is /etc/btcall/btcalld.conf unless --config names another; without --config the daemon also
        starts when that file does not exist. --foreground logs to standard error, also under a service manager.
        """
    private static let standardConfiguration = "/etc/btcall/btcalld.conf"
    private static let hangUp = """
        SIGHUP: the configuration is not read again while btcalld runs: restart it (`systemctl restart btcalld`), or set keys \
        with `btcall config`
        """

    /// Runs until SIGTERM or SIGINT; the exit status is 0 then, 1 when it could not start, 2 for wrong arguments.
    ///
    /// SIGHUP does not end it: the log says that the configuration is not read again. Only a daemon that was started at a
    /// terminal ends with that terminal, as by SIGTERM.
    package static func run(_ words: [String]) -> Never {
        StandardDescriptors.open()
        StandardDescriptors.detachErrors()
        // Taken by the loop as soon as it runs; what comes before waits.
        _ = btcall_mask_signal(SIGHUP, 1)
        // ALSA's plug-ins lock a mutex for every call unless told otherwise before the first of them.
        ALSAEnvironment.prepare()
        signal(SIGPIPE, SIG_IGN)
        let arguments = parse(words)
        if let file = arguments.checked { check(file) }
        let configuration = read(arguments.configuration)
        LogDestination.bootstrap(
            level: configuration.logLevel, arguments.isForeground ? .standardError : .detected)
        ControlLoop.shared.run { start(configuration, arguments.bus) }
    }

    private static func parse(_ words: [String]) -> Arguments {
        var arguments = Arguments()
        var rest = words.dropFirst()
        while let word = rest.popFirst() {
            switch word {
            case "--config": arguments.configuration = value(of: word, &rest)
            case "--check": arguments.checked = value(of: word, &rest)
            case "--bus":
                let text = value(of: word, &rest)
                guard let address = BusAddress(text) else {
                    fail(2, "--bus \(text) is not accepted: system, session or an address such as unix:path=/run/bus")
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
            default: fail(2, "unknown argument \(word)\n\(usage)")
            }
        }
        return arguments
    }

    private static func value(of word: String, _ rest: inout ArraySlice<String>) -> String {
        guard let value = rest.popFirst() else { fail(2, "\(word) needs a value\n\(usage)") }
        return value
    }

    private static func read(_ file: String?) -> Configuration {
        do throws(ConfigurationError) {
            let isAbsent = file == nil && access(standardConfiguration, F_OK) != 0
            let path = file ?? standardConfiguration
            var configuration =
                try isAbsent
                ? Configuration(entries: [], file: path) : Configuration(file: path)
            try configuration.loadQuirks()
            return configuration
        } catch {
            fail(1, "\(error)")
        }
    }

    private static func check(_ file: String) -> Never {
        do throws(ConfigurationError) {
            print(PrintableText.line(try ConfigurationCheck.check(file)))
        } catch {
            fail(1, "\(error)")
        }
        exit(0)
    }

    private static func fail(_ status: Int32, _ message: String) -> Never {
        // The usage has several lines, and a message may quote files of others.
        LineWriter.standardError.write(PrintableText.document("btcalld: \(message)\n"))
        exit(status)
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
            var outside = Daemon.Outside(
                paths: ALSAPathOpener(configuration: configuration), opener: opener, board: LinuxBoard(logger: logger)
            ) {
                do throws(AudioLinkError) {
                    try opener.listen()
                    return nil
                } catch {
                    return ("links that headsets open are not taken", "\(error)")
                }
            }
            outside.controllers = ControllerFacts { ControllerInformation.manufacturer(of: $0) }
            outside.radioLinkEnds = RadioLinkMonitor()
            do throws(DaemonError) {
                let daemon = try Daemon(
                    configuration: configuration, bus: bus, registry: registry, outside: outside, logger: logger)
                if !daemon.settings.configuration.namesProgram { giveUpPrograms(logger) }
                try run(daemon, logger)
            } catch {
                fail(1, "\(error)")
            }
        } catch {
            fail(
                1,
                "the message bus (\(address)) cannot be used: \(error.message); start dbus, or name another with --bus")
        }
    }

    /// From now on nobody can make the process start a program, neither through a library (alsa-lib's `|COMMAND`) nor through a
    /// hole of our own. systemd cannot do that: it starts the daemon the same way.
    private static func giveUpPrograms(_ logger: Logger) {
        guard btcall_forbid_programs(1) != 0 else { return }
        logger.notice("the process could start programs, although none is configured: \(SystemError("seccomp"))")
    }

    @ControlPlane
    private static func run(_ daemon: Daemon, _ logger: Logger) throws(DaemonError) {
        let life = daemon.serviceLife(ServiceNotifier())
        let end: @ControlPlane () -> Void = {
            Task { @ControlPlane in
                life.stopping()
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
            life.ready()
        }
    }
}
