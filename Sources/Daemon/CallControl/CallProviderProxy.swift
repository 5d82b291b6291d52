package import BTCallAPI
package import ControlLoop
package import DBus

/// The proxy of a registered telephony application (`org.btcall.CallProvider1`).
///
/// A request that the application does not answer within the deadline fails with `timedOut`.
@ControlPlane
package final class CallProviderProxy: CallOwner {
    /// The application's unique bus name; empty while it is absent, because a new bus gives the old names to others.
    package private(set) var sender: String
    /// Whether the bus has gone and the application has not come back to the new one yet.
    package private(set) var isAbsent = false
    /// Path of the object that the application registered.
    package let path: String
    package let options: ProviderOptions
    private let bus: BusConnection
    private let deadline: Duration

    package init(
        bus: BusConnection, busName: String, path: String, options: ProviderOptions, deadline: Duration
    ) {
        self.deadline = deadline
        self.bus = bus
        sender = busName
        self.path = path
        self.options = options
    }

    package func leave() {
        isAbsent = true
        sender = ""
    }

    /// - Parameter busName: its name on the new bus.
    package func comeBack(as busName: String) {
        sender = busName
        isAbsent = false
    }

    package var name: String { options.name }
    package var busName: String? { sender }

    package func answer(_ call: String, _ media: MediaState, for account: AccountDescription) async throws(APIError) {
        let options = media.fields.merging(account.fields) { media, _ in media }
        _ = try await perform(BTCallName.CallProvider.performAnswer, [.objectPath(call), .vardict(options)])
    }

    package func changeMedia(_ call: String, _ media: MediaState) async throws(APIError) {
        var fields = media.fields
        fields["localVideo"] = .bool(media.isLocalVideoEnabled)
        _ = try await perform(BTCallName.CallProvider.performMediaChange, [.objectPath(call), .vardict(fields)])
    }

    package func end(_ call: String, reason: String) async throws(APIError) {
        _ = try await perform(BTCallName.CallProvider.performEnd, [.objectPath(call), .string(reason)])
    }

    package func setHeld(_ call: String, _ held: Bool) async throws(APIError) {
        _ = try await perform(BTCallName.CallProvider.performSetHeld, [.objectPath(call), .bool(held)])
    }

    package func sendDTMF(_ call: String, _ tones: String) async throws(APIError) {
        _ = try await perform(BTCallName.CallProvider.performDTMF, [.objectPath(call), .string(tones)])
    }

    package func setMuted(_ call: String, _ muted: Bool) async throws(APIError) {
        _ = try await perform(BTCallName.CallProvider.performSetMuted, [.objectPath(call), .bool(muted)])
    }

    package func talk(_ call: String, _ isPressed: Bool) async throws(APIError) {
        _ = try await perform(BTCallName.CallProvider.performTalk, [.objectPath(call), .bool(isPressed)])
    }

    package func swap(hold: String, resume: String) async throws(APIError) {
        _ = try await perform(BTCallName.CallProvider.performSwap, [.objectPath(hold), .objectPath(resume)])
    }

    package func conference(_ calls: [String]) async throws(APIError) {
        _ = try await perform(BTCallName.CallProvider.performConference, [.objectPaths(calls)])
    }

    package func start(
        _ call: String, _ number: String, _ media: MediaState, for account: AccountDescription
    ) async throws(APIError) {
        let options = media.fields.merging(account.fields) { media, _ in media }
        _ = try await perform(
            BTCallName.CallProvider.performStart, [.objectPath(call), .string(number), .vardict(options)])
    }

    /// Hands the application its end of a call's audio.
    package func audioReady(
        _ call: String, _ descriptor: PassedDescriptor, _ format: AudioFormat
    ) async throws(APIError) {
        _ = try await perform(
            BTCallName.CallProvider.audioReady,
            [.objectPath(call), .unixDescriptor(descriptor), .vardict(format.fields)])
    }

    /// Notifies the application that its registration has ended; expects no reply.
    package func released() {
        if isAbsent { return }
        bus.post(sender, path, BTCallName.Interface.callProvider, BTCallName.CallProvider.released)
    }

    private func perform(_ member: String, _ arguments: [Value]) async throws(APIError) -> [Value] {
        if isAbsent { throw APIError(.providerFailed, "the call's provider has left the bus") }
        do throws(BusError) {
            return try await bus.call(
                sender, path, BTCallName.Interface.callProvider, member, arguments, timeout: deadline)
        } catch {
            if error.hasName(BusError.Name.noReply) {
                throw APIError(.timedOut, "\(name) did not answer \(member) within \(deadline)")
            }
            throw APIError(.providerFailed, "\(name) refused \(member): \(error.message)")
        }
    }
}
