import BTCallAPI
import DBus

// Calls as users of telephony kits expect them: begun by name, and then acted upon.
extension Calls {
    /// The call with this id, to be acted upon. Nobody is asked: ``OngoingCall/current()`` says whether it is there.
    public subscript(_ id: Call.ID) -> OngoingCall { OngoingCall(id, of: self) }

    /// The call as it is now.
    ///
    /// - Throws: `.noSuchCall` when it is over.
    public func call(_ id: Call.ID) async throws(BridgeError) -> Call {
        let fields = try await connection.properties(id.path, BTCallName.Interface.call)
        return try decoding { () throws(APIError) in Call(try CallDescription(fields)) }
    }

    /// Has an application that can dial begin a call: ``dial(_:audio:video:provider:)``.
    ///
    /// There are no types of calls: the scheme of the address decides which application is asked.
    ///
    /// - Parameter address: a number, or an address with a scheme, as `sip:bob@example.org` or `intercom:3`.
    /// - Returns: the call, once the application has begun it.
    /// - Throws: `.noProvider` for an address that no application takes; the message has those that are registered.
    public func placeCall(
        to address: String, audio: CallMedia.Direction? = nil, video: CallMedia.Direction? = nil,
        provider: String? = nil
    ) async throws(DialFailure) -> OngoingCall {
        self[try await dial(address, audio: audio, video: video, provider: provider)]
    }

    /// The same under the name that other kits have for it; ``OngoingCall/events()`` takes the place of a delegate.
    public func createCall(
        toAddress address: String, withAudio audio: CallMedia.Direction, video: CallMedia.Direction = .off
    ) async throws(DialFailure) -> OngoingCall {
        try await placeCall(to: address, audio: audio, video: video)
    }
}
