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
                out: [("tap", "u"), ("memory", "h"), ("wakeup", "h")],
                answering { table, call async throws(APIError) in try await table.openTap(call) }),
            .init(
                Name.closeTap, in: [("tap", "u")],
                answering { table, call throws(APIError) in
                    try table.close(call.arguments.first?.uint32Value ?? 0, of: call.sender)
                    return []
                }),
            .init(
                Name.offerRemote,
                in: [("call", "o"), ("width", "u"), ("height", "u"), ("framesPerSecond", "u")],
                out: [("offer", "u"), ("memory", "h"), ("wakeup", "h")],
                answering { table, call async throws(APIError) in try await table.offerRemote(call) }),
            .init(
                Name.withdrawRemote, in: [("offer", "u")],
                answering { table, call throws(APIError) in
                    try table.withdraw(call.arguments.first?.uint32Value ?? 0, of: call.sender)
                    return []
                }),
        ]
    }

    var property: ExportedInterface.Property {
        .init(Name.taps, "u", get: { [weak self] in .uint32(UInt32(clamping: self?.count ?? 0)) })
    }

    /// A method, whose refusal is the bus error of the same name.
    private func answering(
        _ answer: @escaping @ControlPlane (TapTable, MethodCall) async throws(APIError) -> [Value]
    ) -> @ControlPlane (MethodCall) async throws(BusError) -> [Value] {
        { [weak self] call async throws(BusError) in
            guard let self else { throw APIError(.unavailable, "btcall-video ends").busError }
            do throws(APIError) {
                return try await answer(self, call)
            } catch {
                throw error.busError
            }
        }
    }

    private func openTap(_ call: MethodCall) async throws(APIError) -> [Value] {
        let side = try PictureSideWord(argument: call.arguments.last?.stringValue ?? "")
        let path = try Self.call(call)
        let picture = TappedPicture(side == .local ? .local : .remote, of: path == "/" ? nil : path)
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

    private static func answer(_ opened: Opened) -> [Value] {
        [.uint32(opened.number), .unixDescriptor(opened.memory), .unixDescriptor(opened.wakeUp)]
    }
}
