import BTCallAPI
import ControlLoop
import DBus

// Push to talk.
extension Calls {
    /// Presses or releases a talk key of programs, which acts like a key of the board on all active calls with a talk mode.
    ///
    /// Returns when the applications of those calls have been asked.
    /// - Parameter key: name of a key that stays pressed without the program that pressed it; nil for this program's own key,
    ///   which is released when the program leaves the bus.
    /// - Throws: `.wrongState` when no call with a talk mode is active; `.providerFailed` when the application of every such
    ///   call refuses, `.timedOut` when it does not answer. A release never throws.
    public func setTalk(_ pressed: Bool, key: String? = nil) async throws(BridgeError) {
        let options: [String: Value] = key.map { ["key": .string($0)] } ?? [:]
        try await connection.request(
            BTCallPath.calls, BTCallName.Interface.calls, BTCallName.Calls.setTalk, [.bool(pressed), .vardict(options)])
    }

    /// Learns the talk key of a paired device, while somebody presses it three times within 30 seconds.
    ///
    /// - Parameters:
    ///   - address: `AA:BB:CC:DD:EE:FF`.
    ///   - progress: called with the presses that were recognised so far, 1 to 3.
    /// - Returns: the row that btcalld has kept, in the notation of `talk-keys.conf`.
    /// - Throws: `.unavailable` for a device that is not paired, or with the reason why nothing was learnt; `.wrongState` while
    ///   another device is being learnt.
    public func learnTalkKey(
        of address: String, progress: @escaping @Sendable (Int) -> Void = { _ in }
    ) async throws(BridgeError) -> String {
        let watch = await connection.watchTalkLesson(of: address, progress)
        let reply: [Value]
        do throws(BridgeError) {
            reply = try await connection.request(
                BTCallPath.calls, BTCallName.Interface.calls, BTCallName.Calls.learnTalk, [.string(address)],
                timeout: Self.lessonTimeout)
        } catch {
            await watch.end()
            throw error
        }
        await watch.end()
        return reply.first?.stringValue ?? ""
    }

    /// Forgets what was learnt about a device's talk key.
    ///
    /// - Throws: `.unavailable` when nothing was learnt about it.
    public func forgetTalkKey(of address: String) async throws(BridgeError) {
        try await connection.request(
            BTCallPath.calls, BTCallName.Interface.calls, BTCallName.Calls.forgetTalk, [.string(address)])
    }

    /// A lesson lasts half a minute.
    private static var lessonTimeout: Duration { .seconds(40) }

    /// The talk keys that btcalld knows.
    public func talkKeys() async throws(BridgeError) -> [TalkKey] {
        let fields = try await connection.property(
            BTCallPath.calls, BTCallName.Interface.calls, BTCallName.Calls.talkKeys)
        return try decoding { () throws(APIError) in
            var keys: [TalkKey] = []
            for element in try fields.dictionaries(BTCallName.Calls.talkKeys) {
                // Leaves out kinds that this version does not know.
                if let key = TalkKey(try TalkKeyDescription(element)) { keys.append(key) }
            }
            return keys
        }
    }
}

/// A subscription to the progress of a lesson.
@ControlPlane
final class TalkLessonWatch {
    private let subscription: Subscription

    init(_ subscription: Subscription) {
        self.subscription = subscription
    }

    func end() { subscription.cancel() }
}

extension BridgeConnection {
    func watchTalkLesson(of address: String, _ progress: @escaping @Sendable (Int) -> Void) -> TalkLessonWatch {
        TalkLessonWatch(
            connection.subscribe(
                sender: BTCallName.bus, path: BTCallPath.calls, interface: BTCallName.Interface.calls,
                member: BTCallName.Calls.talkLearning
            ) { signal in
                guard signal.arguments.count >= 2, signal.arguments[0].stringValue == address.uppercased(),
                    let count = signal.arguments[1].integerValue
                else { return }
                progress(Int(count))
            })
    }
}
