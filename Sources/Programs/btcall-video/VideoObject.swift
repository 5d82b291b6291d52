import BTCallAPI
import ControlLoop
import DBus
import VideoCapture

/// `org.btcall.Video1` at `/org/btcall/video`.
@ControlPlane
final class VideoObject {
    /// Asks btcalld about the microphone.
    typealias MicrophoneCheck = @ControlPlane () async -> AccessDescription.Verdict

    private typealias Name = BTCallName.Video
    private let bus: BusConnection
    private let service: VideoService
    private let pictures: PictureMembers
    private let taps: TapTable
    private let microphone: MicrophoneCheck

    init(
        bus: BusConnection, service: VideoService, pictures: PictureService, taps: TapTable,
        microphone: @escaping MicrophoneCheck
    ) {
        self.bus = bus
        self.service = service
        self.pictures = PictureMembers(pictures, service)
        self.taps = taps
        self.microphone = microphone
        bus.export([interface], at: BTCallPath.video)
        service.changes.subscribe(self) { object, change in object.show(change) }
        pictures.changes.subscribe(self) { $0.changed(PictureMembers.properties(of: $1)) }
        taps.changes.subscribe(self) { $0.changed([Name.taps]) }
    }

    private var interface: ExportedInterface {
        ExportedInterface(
            BTCallName.Interface.video, methods: methods + pictures.methods + taps.methods,
            signals: [.init(Name.cameraSettingsChanged, [("settings", "a{sv}")])],
            properties: properties + pictures.properties + [taps.property])
    }

    private var methods: [ExportedInterface.Method] {
        [
            .init(Name.setCamera, in: [("camera", "s")], MethodCall.performing(setCamera)),
            .init(
                Name.setCapture, in: [("resolution", "s"), ("framesPerSecond", "u")],
                MethodCall.performing(setCapture)),
            .init(Name.reset, MethodCall.performing { [service] _ throws(APIError) in try service.reset() }),
            .init(
                Name.requestAccess, in: [("microphone", "b"), ("camera", "b")], out: [("access", "a{sv}")],
                isReading: true, requestAccess),
        ]
    }

    private var properties: [ExportedInterface.Property] {
        [
            .init(Name.cameras, "aa{sv}", get: camerasValue),
            .init(Name.camera, "s", get: { [service] in .string(service.camera) }),
            .init(Name.cameraSettings, "a{sv}", get: settingsValue),
            .init(Name.resolution, "s", get: { [service] in .string("\(service.request.resolution)") }),
            .init(
                Name.frameRate, "u",
                get: { [service] in .uint32(UInt32(clamping: service.request.framesPerSecond)) }),
            .init(Name.problem, "s", get: { [service] in .string(service.problem ?? "") }),
            .init(Name.background, "s", get: { [service] in .string("\(service.background)") }),
        ]
    }

    // MARK: Members

    private func setCamera(_ call: MethodCall) throws(APIError) {
        try service.setCamera(try TextLimit.address.check(call.arguments.first?.stringValue ?? "", "camera"))
    }

    private func setCapture(_ call: MethodCall) throws(APIError) {
        try service.setCapture(
            resolution: try TextLimit.word.check(call.arguments.first?.stringValue ?? "", "resolution"),
            framesPerSecond: call.arguments.last?.integerValue ?? 0)
    }

    private func requestAccess(_ call: MethodCall) async throws(BusError) -> [Value] {
        var access = AccessDescription()
        if call.arguments.first?.boolValue == true { access.microphone = await microphone() }
        if call.arguments.last?.boolValue == true { access.camera = service.access() }
        return [.vardict(access.fields)]
    }

    private func camerasValue() -> Value { .array("a{sv}", service.descriptions.map { .vardict($0.fields) }) }

    private func settingsValue() -> Value { .vardict(service.capture?.fields ?? [:]) }

    // MARK: Signals

    private func show(_ change: VideoService.Change) {
        switch change {
        case .cameras: changed([Name.cameras])
        case .choice: changed([Name.camera, Name.resolution, Name.frameRate])
        case .background: changed([Name.background])
        case .device: break
        case .capture:
            changed([Name.cameraSettings, Name.problem])
            bus.emit(
                path: BTCallPath.video, interface: BTCallName.Interface.video, member: Name.cameraSettingsChanged,
                [settingsValue()])
        }
    }

    private func changed(_ properties: [String]) {
        bus.propertiesChanged(path: BTCallPath.video, interface: BTCallName.Interface.video, properties)
    }
}
