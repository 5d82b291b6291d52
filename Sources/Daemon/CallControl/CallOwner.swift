package import BTCallAPI
package import ControlLoop
package import DBus

/// An owner of calls, of which `CallDirectory` asks what headsets and clients request: an application on the bus
/// (`CallProviderProxy`), or a part of the daemon that acts for a program without btcall support.
///
/// Each method is one action: returning fulfils it, an error fails it. The owner reports the resulting state of the call
/// like any other change. Calls are named by their object paths.
@ControlPlane
package protocol CallOwner: AnyObject {
    var name: String { get }
    var options: ProviderOptions { get }
    /// The application's unique bus name; nil for a part of the daemon.
    var busName: String? { get }

    /// Dials for a call object that exists already. An owner without video or accounts ignores `media` or `account`.
    func start(
        _ call: String, _ number: String, _ media: MediaState, for account: AccountDescription
    ) async throws(APIError)
    func answer(_ call: String, _ media: MediaState, for account: AccountDescription) async throws(APIError)
    /// Changes the directions of audio and video.
    func changeMedia(_ call: String, _ media: MediaState) async throws(APIError)
    /// - Parameter reason: `localHangUp` when the call is hung up here, `rejected` for a ringing call, `missed` for one that
    ///   nobody answered.
    func end(_ call: String, reason: String) async throws(APIError)
    func setHeld(_ call: String, _ held: Bool) async throws(APIError)
    /// - Parameter tones: all tones of one request, in order.
    func sendDTMF(_ call: String, _ tones: String) async throws(APIError)
    /// Reports that the person is muted or audible again; btcalld already sends silence.
    func setMuted(_ call: String, _ muted: Bool) async throws(APIError)
    /// Asks whether the person may talk, or reports that the person no longer does.
    func talk(_ call: String, _ isPressed: Bool) async throws(APIError)
    /// Holds one call and resumes the other in one step.
    func swap(hold: String, resume: String) async throws(APIError)
    /// Joins several calls into one conversation.
    func conference(_ calls: [String]) async throws(APIError)
    /// Takes its end of a call's audio; not called for `audio="pcm"`.
    func audioReady(_ call: String, _ descriptor: PassedDescriptor, _ format: AudioFormat) async throws(APIError)
    /// The registration has ended.
    func released()
}

extension CallOwner {
    package func changeMedia(_ call: String, _ media: MediaState) async throws(APIError) {
        throw notOffered("change the media of calls")
    }

    package func setMuted(_ call: String, _ muted: Bool) async throws(APIError) { throw notOffered("mute calls") }

    package func talk(_ call: String, _ isPressed: Bool) async throws(APIError) { throw notOffered("decide who talks") }

    package func swap(hold: String, resume: String) async throws(APIError) { throw notOffered("swap calls") }

    package func conference(_ calls: [String]) async throws(APIError) { throw notOffered("join calls") }

    private func notOffered(_ what: String) -> APIError {
        APIError(.notSupported, "\(name) does not \(what)")
    }
}
