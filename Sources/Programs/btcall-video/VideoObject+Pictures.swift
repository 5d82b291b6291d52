import BTCallAPI
import ControlLoop
import DBus
import Pictures
import VideoPlan

/// The members of `org.btcall.Video1` for pictures, without taps and offers.
@ControlPlane
struct PictureMembers {
    private typealias Name = BTCallName.Video
    private let pictures: PictureService
    private let cameras: VideoService

    init(_ pictures: PictureService, _ cameras: VideoService) {
        self.pictures = pictures
        self.cameras = cameras
    }

    var methods: [ExportedInterface.Method] {
        [
            .init(
                Name.setView, in: [("side", "s"), ("view", "a{sv}")], takesDescriptors: true,
                MethodCall.performing(setView)),
            .init(Name.setBackground, in: [("background", "s")], MethodCall.performing(setBackground)),
        ]
    }

    var properties: [ExportedInterface.Property] {
        [
            .init(Name.picture, "a{sv}", get: { [pictures] in .vardict(pictures.description.fields) }),
            .init(Name.views, "a{sv}", get: viewsValue),
            .init(Name.outputDevice, "a{sv}", get: outputValue),
        ]
    }

    /// The properties that a change concerns.
    static func properties(of change: PictureService.Change) -> [String] {
        switch change {
        case .picture: [Name.picture]
        case .views: [Name.views]
        case .outputDevice: [Name.outputDevice]
        }
    }

    // MARK: Methods

    private func setView(_ call: MethodCall) async throws(APIError) {
        let side = PictureSide(try PictureSideWord(argument: call.arguments.first?.stringValue ?? ""))
        let fields = try Fields(call.arguments.last ?? .vardict([:]), .setView)
        guard let request = try ViewRequest(fields) else { return try pictures.resetView(side) }
        let settings = try ViewSettings(request)
        if let descriptor = request.descriptor {
            do throws(SystemError) {
                try ViewOutputs.check(descriptor.descriptor)
            } catch {
                throw APIError(
                    .invalidArgument,
                    "descriptor in \(fields.subject) is not accepted (\(error)); accepted: a pipe, a stream socket or "
                        + "a regular file, open for writing")
            }
        }
        try await PictureService.require(PipelinePlan.needs(of: settings))
        try pictures.setView(side, settings, request.descriptor, of: call.sender)
    }

    private func setBackground(_ call: MethodCall) async throws(APIError) {
        let text = call.arguments.first?.stringValue ?? ""
        guard let choice = BackgroundChoice(text) else {
            throw APIError(
                .invalidArgument,
                "background is \"\(PrintableText.line(text, longest: 128))\"; accepted: \(BackgroundChoice.accepted)")
        }
        if choice != .off { try await PictureService.require(PipelinePlan.backgroundNeeds) }
        if case .picture(let path) = choice {
            do throws(PictureError) {
                try await BackgroundFile.check(path)
            } catch {
                throw APIError(.invalidArgument, "\(error)")
            }
        }
        try cameras.setBackground(choice)
    }

    // MARK: Properties

    private func viewsValue() -> Value {
        let sides = PictureSide.allCases.map { side in
            let status = pictures.views.status(of: side)
            let view = ViewDescription(
                pictures.view(of: side).request, isRunning: status.isRunning, problem: status.problem)
            return (side.rawValue, Value.vardict(view.fields))
        }
        return .vardict(Dictionary(uniqueKeysWithValues: sides))
    }

    private func outputValue() -> Value {
        guard let output = pictures.output else { return .vardict([:]) }
        return .vardict(
            OutputDescription(
                path: output.path, isRunning: output.isRunning, problem: output.problem.map { "\($0)" }
            ).fields)
    }
}
