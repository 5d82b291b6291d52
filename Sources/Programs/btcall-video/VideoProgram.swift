import BTCall
import BTCallAPI
import Cameras
import ControlLoop
import DBus
import Glibc
import Logging
import ProgramSettings

/// The program `btcall-video`: its arguments, its log, its signals, its service manager.
enum VideoProgram {
    private static let program = ServiceProgram("btcall-video")

    /// Runs until SIGTERM or SIGINT. The exit status is 0 then, 1 if it could not start, 2 for invalid arguments.
    static func run(_ words: [String]) -> Never {
        program.begin()
        let arguments: VideoArguments
        do throws(SettingsError) {
            arguments = try VideoArguments(Array(words.dropFirst()))
        } catch {
            program.fail(2, "\(error)\n\(VideoArguments.usage)")
        }
        switch arguments.purpose {
        case .run: break
        case .help: program.finish(VideoArguments.usage)
        case .version: program.finish("btcall-video \(ProductVersion.current)")
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

    private static func settings(_ arguments: VideoArguments) -> VideoSettings {
        let standard = VideoArguments.standardConfiguration
        let isAbsent = arguments.configuration == nil && access(standard, F_OK) != 0
        var settings = isAbsent ? VideoSettings() : read(arguments.configuration ?? standard)
        do throws(SettingsError) {
            try arguments.apply(to: &settings)
        } catch {
            program.fail(2, "\(error)\n\(VideoArguments.usage)")
        }
        settings.names.complete(with: BoardCameras.names())
        return settings
    }

    private static func read(_ file: String) -> VideoSettings {
        let bytes = program.read(file, atMost: VideoSettings.mostBytes)
        do throws(SettingsError) {
            return try VideoSettings(reading: bytes, file: file)
        } catch {
            program.fail(1, "\(error)")
        }
    }

    private static func bus(_ arguments: VideoArguments) -> BridgeBus {
        do throws(BridgeError) {
            return try .named(arguments.bus)
        } catch {
            program.fail(2, error.message)
        }
    }

    @ControlPlane
    private static func start(_ settings: VideoSettings, _ bus: BridgeBus) {
        Task { @ControlPlane in
            let running: RunningVideo
            do {
                running = try await RunningVideo(
                    settings, system: LinuxCameras(), bus: bus, logger: Logger(label: "btcall-video"))
            } catch {
                program.fail(1, "\(error)")
            }
            program.ready(endingOn: [SIGTERM, SIGINT, SIGHUP]) { await running.stop() }
        }
    }
}

/// The running parts: the cameras, the object on the bus, the connection to btcalld.
@ControlPlane
final class RunningVideo {
    let service: VideoService
    let pictures: PictureService
    private let taps: TapTable
    private let bus: BusConnection
    private let bridge: CallBridge
    private let object: VideoObject

    /// - Parameter parts: what takes the place of devices, for tests.
    /// - Throws: `BridgeError` or `BusError`: no bus, or another program has the name.
    init(
        _ settings: VideoSettings, system: any CameraSystem, bus address: BridgeBus,
        parts: PictureService.Parts = .init(), logger: Logger
    ) async throws {
        let bridge = try await CallBridge(bus: address)
        self.bridge = bridge
        let microphone = MicrophoneAccess(bridge)
        bus = try BusConnection(address.busAddress)
        service = VideoService(settings, system: system, logger: logger)
        pictures = PictureService(
            settings, cameras: service, calls: PictureCalls(bus, bridge), bus: bus, parts: parts, logger: logger)
        taps = TapTable(bus: bus, pictures: pictures, logger: logger)
        object = VideoObject(
            bus: bus, service: service, pictures: pictures, taps: taps, microphone: { await microphone.verdict() })
        let light = CameraLight(bridge, bus)
        pictures.onCameraUse = { light.set($0) }
        try await bus.requestName(BTCallName.videoBus)
    }

    func stop() async {
        taps.stop()
        await pictures.stop()
        service.stop()
        bus.close()
        await bridge.close()
    }
}
