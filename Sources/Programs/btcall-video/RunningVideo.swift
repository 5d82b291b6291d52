import BTCall
import BTCallAPI
import Cameras
import ControlLoop
import DBus
import Logging

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
