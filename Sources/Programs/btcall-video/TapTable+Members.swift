import BTCallAPI
import ControlLoop
import DBus
import VideoPlan

/// The members of `org.btcall.Video1` for taps and offers.
extension TapTable {
    private typealias Name = BTCallName.Video

    var methods: [ExportedInterface.Method] {
        [
            .init(
                Name.openTap, in: [("call", "o"), ("side", "s")],
                out: [("tap", "u"), ("memory", "h"), ("wakeup", "h")], MethodCall.answering(openTap)),
            .init(
                Name.closeTap, in: [("tap", "u")],
                MethodCall.performing { [self] call throws(APIError) in try close(Self.number(call), of: call.sender) }),
            .init(
                Name.offerRemote,
                in: [("call", "o"), ("width", "u"), ("height", "u"), ("framesPerSecond", "u")],
                out: [("offer", "u"), ("memory", "h"), ("wakeup", "h")], MethodCall.answering(offerRemote)),
            .init(
                Name.withdrawRemote, in: [("offer", "u")],
                MethodCall.performing { [self] call throws(APIError) in
                    try withdraw(Self.number(call), of: call.sender)
                }),
        ]
    }

    var property: ExportedInterface.Property {
        .init(Name.taps, "u", get: { [self] in .uint32(UInt32(clamping: count)) })
    }

    private func openTap(_ call: MethodCall) async throws(APIError) -> [Value] {
        let side = PictureSide(try PictureSideWord(argument: call.arguments.last?.stringValue ?? ""))
        let path = try Self.call(call)
        let picture = TappedPicture(side, of: path == "/" ? nil : path)
        return Self.answer(try await open(picture, of: call.sender))
    }

    private func offerRemote(_ call: MethodCall) async throws(APIError) -> [Value] {
        let numbers = call.arguments.dropFirst().map { Int($0.uint32Value ?? 0) }
        guard numbers.count == 3 else { throw APIError(.invalidArgument, "OfferRemote has four arguments") }
        return Self.answer(
            try await offer(
                try Self.call(call), width: numbers[0], height: numbers[1], framesPerSecond: numbers[2],
                of: call.sender))
    }

    private static func call(_ call: MethodCall) throws(APIError) -> String {
        try TextLimit.address.check(call.arguments.first?.objectPathValue ?? "", "call")
    }

    /// Of a tap or an offer; none has 0.
    private static func number(_ call: MethodCall) -> UInt32 { call.arguments.first?.uint32Value ?? 0 }

    private static func answer(_ opened: Opened) -> [Value] {
        [.uint32(opened.number), .unixDescriptor(opened.memory), .unixDescriptor(opened.wakeUp)]
    }
}
