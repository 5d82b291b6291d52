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

    /// A test that threw may not have closed it.
    isolated deinit { close() }

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
                property(Name.picture, "a{sv}") { .vardict($0.picture.fields) },
                property(Name.views, "a{sv}") { video in
                    .vardict(
                        Dictionary(
                            uniqueKeysWithValues: PictureSideWord.allCases.map { side in
                                let view = video.views[side] ?? ViewDescription(ViewRequest(.none))
                                return (side.rawValue, Value.vardict(view.fields))
                            }))
                },
                property(Name.background, "s") { .string($0.background) },
                property(Name.outputDevice, "a{sv}") { .vardict($0.output?.fields ?? [:]) },
                property(Name.taps, "u") { .uint32(UInt32(clamping: $0.taps)) },
            ])
    }

    private func method(
        _ name: String, in arguments: [(name: String, signature: String)],
        out results: [(name: String, signature: String)] = [], takesDescriptors: Bool = false,
        _ answer: @escaping @ControlPlane (FakeVideo, MethodCall) throws(APIError) -> [Value]
    ) -> ExportedInterface.Method {
        .init(name, in: arguments, out: results, takesDescriptors: takesDescriptors) {
            [weak self] call throws(BusError) in
            guard let self else { throw .failed("the test has ended") }
            do throws(APIError) {
                return try answer(self, call)
            } catch {
                throw error.busError
            }
        }
    }

    /// Clients of a test that threw may still read it: they get an error.
    private func property(
        _ name: String, _ signature: String, _ get: @escaping @ControlPlane (FakeVideo) -> Value
    ) -> ExportedInterface.Property {
        .init(
            name, signature,
            get: { [weak self] in
                guard let self else { return "" }
                return get(self)
            })
    }

    private func changed(_ property: String) {
        bus.propertiesChanged(path: BTCallPath.video, interface: BTCallName.Interface.video, [property])
    }
}
