package import BTCallAPI
package import ControlLoop
package import DBus

/// `org.btcall.Video` as a client sees it, without cameras: requested views run at once, and a test says what is seen.
@ControlPlane
package final class FakeVideo {
    package let bus: BusConnection
    package var picture = PictureDescription() {
        didSet { changed(BTCallName.Video.picture) }
    }
    package var views: [PictureSideWord: ViewDescription] = [:]
    package var background = "off"
    package var output: OutputDescription?
    package var taps = 0
    /// The views that clients have requested; nil: that of the configuration.
    package private(set) var requests: [(side: PictureSideWord, view: ViewRequest?)] = []
    /// The refusal of every request for a view or a background.
    package var refusal: APIError?
    /// Answers `OpenTap`.
    package var tap: @ControlPlane (_ call: String, _ side: String) throws(APIError) -> [Value] = {
        (_, _) throws(APIError) in throw APIError(.notSupported, "no frames are here")
    }

    package init(_ address: String) async throws {
        bus = try BusConnection(.address(address))
        bus.export([interface], at: BTCallPath.video)
        try await bus.requestName(BTCallName.videoBus)
    }

    package func close() { bus.close() }

    private var interface: ExportedInterface {
        typealias Name = BTCallName.Video
        return ExportedInterface(
            BTCallName.Interface.video,
            methods: [
                method(
                    Name.setView, in: [("side", "s"), ("view", "a{sv}")], takesDescriptors: true
                ) { video, call throws(APIError) in
                    let side = try PictureSideWord(argument: call.arguments[0].stringValue ?? "")
                    let view = try ViewRequest(try Fields(call.arguments[1], .setView))
                    if let refusal = video.refusal { throw refusal }
                    video.requests.append((side, view))
                    video.views[side] = view.map { ViewDescription($0, isRunning: $0.sink != .none) }
                    return []
                },
                method(Name.setBackground, in: [("background", "s")]) { video, call throws(APIError) in
                    if let refusal = video.refusal { throw refusal }
                    video.background = call.arguments[0].stringValue ?? ""
                    return []
                },
                method(
                    Name.openTap, in: [("call", "o"), ("side", "s")],
                    out: [("tap", "u"), ("memory", "h"), ("wakeup", "h")]
                ) { video, call throws(APIError) in
                    try video.tap(call.arguments[0].stringValue ?? "", call.arguments[1].stringValue ?? "")
                },
                method(Name.closeTap, in: [("tap", "u")]) { _, _ in [] },
            ],
            properties: [
                .init(Name.picture, "a{sv}", get: { [unowned self] in .vardict(picture.fields) }),
                .init(
                    Name.views, "a{sv}",
                    get: { [unowned self] in
                        .vardict(
                            Dictionary(
                                uniqueKeysWithValues: PictureSideWord.allCases.map { side in
                                    let view = views[side] ?? ViewDescription(ViewRequest(.none))
                                    return (side.rawValue, Value.vardict(view.fields))
                                }))
                    }),
                .init(Name.background, "s", get: { [unowned self] in .string(background) }),
                .init(Name.outputDevice, "a{sv}", get: { [unowned self] in .vardict(output?.fields ?? [:]) }),
                .init(Name.taps, "u", get: { [unowned self] in .uint32(UInt32(clamping: taps)) }),
            ])
    }

    private func method(
        _ name: String, in arguments: [(name: String, signature: String)],
        out results: [(name: String, signature: String)] = [], takesDescriptors: Bool = false,
        _ answer: @escaping @ControlPlane (FakeVideo, MethodCall) throws(APIError) -> [Value]
    ) -> ExportedInterface.Method {
        .init(name, in: arguments, out: results, takesDescriptors: takesDescriptors) {
            [unowned self] call throws(BusError) in
            do throws(APIError) {
                return try answer(self, call)
            } catch {
                throw error.busError
            }
        }
    }

    private func changed(_ property: String) {
        bus.propertiesChanged(path: BTCallPath.video, interface: BTCallName.Interface.video, [property])
    }
}
