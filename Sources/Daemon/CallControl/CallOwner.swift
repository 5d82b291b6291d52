package import BTCallAPI
package import ControlLoop
package import DBus

/// Who owns calls, as `CallDirectory` asks for what headsets and clients want: an application on the bus
/// (`CallProviderProxy`), or a part of the daemon that speaks for a program that knows nothing of us.
///
/// Each method is one action: returning fulfils it, an error fails it. What becomes of the call then is reported like
/// any other change. Calls are named by the paths of their objects.
@ControlPlane
package protocol CallOwner: AnyObject {
    var name: String { get }
    var options: ProviderOptions { get }
    /// The application's unique bus name; nil for a part of the daemon.
    var busName: String? { get }

    /// Dials for a call object that exists already.
    func start(_ call: String, _ number: String) async throws(APIError)
    func answer(_ call: String) async throws(APIError)
    /// The same, for an owner that knows of ways that audio and video go.
    func start(_ call: String, _ number: String, _ media: MediaState) async throws(APIError)
    func answer(_ call: String, _ media: MediaState) async throws(APIError)
    /// Lets audio and video go other ways.
    func changeMedia(_ call: String, _ media: MediaState) async throws(APIError)
    /// - Parameter reason: `localHangUp` when somebody here hung up, `rejected` for a call that was ringing, `missed` for one that nobody
    ///   answered.
    func end(_ call: String, reason: String) async throws(APIError)
    func setHeld(_ call: String, _ held: Bool) async throws(APIError)
    /// - Parameter tones: all that one request has, in order.
    func sendDTMF(_ call: String, _ tones: String) async throws(APIError)
    /// The person cannot be heard, or can again; what the daemon sends is silent already.
    func setMuted(_ call: String, _ muted: Bool) async throws(APIError)
    /// Holds one call and takes the other one up, in one step.
    func swap(hold: String, resume: String) async throws(APIError)
    /// Makes one conversation of several calls.
    func conference(_ calls: [String]) async throws(APIError)
    /// Takes its end of a call's audio; not called for `audio="pcm"`.
    func audioReady(_ call: String, _ descriptor: PassedDescriptor, _ format: AudioFormat) async throws(APIError)
    /// The registration is over.
    func released()
}

extension CallOwner {
    package func start(_ call: String, _ number: String, _ media: MediaState) async throws(APIError) {
        try await start(call, number)
    }

    package func answer(_ call: String, _ media: MediaState) async throws(APIError) { try await answer(call) }

    package func changeMedia(_ call: String, _ media: MediaState) async throws(APIError) {
        throw notOffered("change the media of calls")
    }

    package func setMuted(_ call: String, _ muted: Bool) async throws(APIError) { throw notOffered("mute calls") }

    package func swap(hold: String, resume: String) async throws(APIError) { throw notOffered("swap calls") }

    package func conference(_ calls: [String]) async throws(APIError) { throw notOffered("join calls") }

    private func notOffered(_ what: String) -> APIError {
        APIError(.notSupported, "\(name) does not \(what)")
    }
}
