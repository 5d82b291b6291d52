import BTCallAPI
import DBus

// Calls in the style of telephony kits: place a call, then act on it.
extension Calls {
    /// A handle for the call with this id, made without asking the daemon: ``OngoingCall/current()`` says whether the call
    /// exists.
    public subscript(_ id: Call.ID) -> OngoingCall { OngoingCall(id, of: self) }

    /// The call as it is now.
    ///
    /// - Throws: `.noSuchCall` when it has ended.
    public func call(_ id: Call.ID) async throws(BridgeError) -> Call {
        let fields = try await connection.properties(id.path, BTCallName.Interface.call)
        return try decoding { () throws(APIError) in Call(try CallDescription(fields)) }
    }

    /// Asks an application that can dial to begin a call: ``dial(_:audio:video:provider:)``.
    ///
    /// There are no types of calls: the scheme of the address selects the application.
    ///
    /// - Parameter address: a number, or an address with a scheme, for example `sip:bob@example.org` or `intercom:3`.
    /// - Returns: the call, once the application has begun it.
    /// - Throws: `.noProvider` for an address that no application accepts; the message lists the registered ones.
    public func placeCall(
        to address: String, audio: CallMedia.Direction? = nil, video: CallMedia.Direction? = nil,
        provider: String? = nil
    ) async throws(DialFailure) -> OngoingCall {
        self[try await dial(address, audio: audio, video: video, provider: provider)]
    }

    /// The same under the name in other kits; ``OngoingCall/events()`` replaces the delegate.
    public func createCall(
        toAddress address: String, withAudio audio: CallMedia.Direction, video: CallMedia.Direction = .off
    ) async throws(DialFailure) -> OngoingCall {
        try await placeCall(to: address, audio: audio, video: video)
    }
}
