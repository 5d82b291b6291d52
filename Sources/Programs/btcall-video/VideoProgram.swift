import BTCall
import BTCallAPI
import Cameras
import ControlLoop
import DBus
import Glibc
import Logging

/// The program `btcall-video`: its arguments, its log, its signals, its service manager.
enum VideoProgram {
    /// Runs until SIGTERM or SIGINT. The exit status is 0 then, 1 if it could not start, 2 for invalid arguments.
    static func run(_ words: [String]) -> Never {
        StandardDescriptors.open()
        StandardDescriptors.detachErrors()
        signal(SIGPIPE, SIG_IGN)
        let arguments: VideoArguments
        do throws(VideoSettingsError) {
            arguments = try VideoArguments(Array(words.dropFirst()))
        } catch {
            fail(2, "\(error)\n\(VideoArguments.usage)")
        }
        switch arguments.purpose {
        case .run: break
        case .help: finish(VideoArguments.usage)
        case .version: finish("btcall-video \(ProductVersion.current)")
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

    private static func settings(_ arguments: VideoArguments) -> VideoSettings {
        let standard = VideoArguments.standardConfiguration
        let isAbsent = arguments.configuration == nil && access(standard, F_OK) != 0
        var settings = isAbsent ? VideoSettings() : read(arguments.configuration ?? standard)
        do throws(VideoSettingsError) {
            try arguments.apply(to: &settings)
        } catch {
            fail(2, "\(error)\n\(VideoArguments.usage)")
        }
        return settings
    }

    private static func read(_ file: String) -> VideoSettings {
        let bytes: [UInt8]
        do throws(FileRefusal) {
            bytes = try ForeignFile.read(file, atMost: VideoSettings.mostBytes)
        } catch {
            fail(1, "\(error)")
        }
        do throws(VideoSettingsError) {
            return try VideoSettings(reading: bytes, file: file)
        } catch {
            fail(1, "\(error)")
        }
    }

    /// The bus as the library and as this program's own connection name it.
    private static func bus(_ arguments: VideoArguments) -> (bridge: BridgeBus, address: BusAddress) {
        let named = arguments.bus ?? getenv("BTCALL_BUS").map { String(cString: $0) } ?? ""
        if named.isEmpty, arguments.bus == nil { return (.system, .system) }
        guard let bus = BridgeBus(named), let address = BusAddress(named) else {
            fail(2, "bus '\(named)' is not accepted; it is system, session or an address such as unix:path=/run/bus")
        }
        return (bus, address)
    }

    @ControlPlane
    private static func start(_ settings: VideoSettings, _ bus: (bridge: BridgeBus, address: BusAddress)) {
        Task { @ControlPlane in
            do {
                let running = try await RunningVideo(
                    settings, system: LinuxCameras(), bridge: bus.bridge, address: bus.address,
                    logger: Logger(label: "btcall-video"))
                handleSignals(running)
                ServiceNotifier().ready()
            } catch {
                fail(1, "\(error)")
            }
        }
    }

    @ControlPlane
    private static func handleSignals(_ running: RunningVideo) {
        let end: @ControlPlane () -> Void = {
            Task { @ControlPlane in
                ServiceNotifier().stopping()
                await running.stop()
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
        LineWriter.standardError.write(PrintableText.document("btcall-video: \(message)\n"))
        exit(status)
    }
}

/// The running parts: the cameras, the object on the bus, the connection to btcalld.
@ControlPlane
final class RunningVideo {
    let service: VideoService
    private let bus: BusConnection
    private let bridge: CallBridge
    private let object: VideoObject

    /// - Throws: `BridgeError` or `BusError`: no bus, or another program has the name.
    init(
        _ settings: VideoSettings, system: any CameraSystem, bridge: BridgeBus, address: BusAddress, logger: Logger
    ) async throws {
        self.bridge = try await CallBridge(bus: bridge)
        let microphone = MicrophoneAccess(self.bridge)
        bus = try BusConnection(address)
        service = VideoService(settings, system: system, logger: logger)
        object = VideoObject(bus: bus, service: service, microphone: { await microphone.verdict() })
        try await bus.requestName(BTCallName.videoBus)
    }

    func stop() async {
        service.stop()
        bus.close()
        await bridge.close()
    }
}
