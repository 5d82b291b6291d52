import BTCallAPI
import ControlLoop
import FrameRings
import VideoPlan

/// A picture that programs can read: one side of a call, or the camera of the box without a call.
struct TappedPicture: Hashable, Sendable, CustomStringConvertible {
    /// The call's object path; nil: the camera without a call, which has a local side only.
    let call: String?
    let side: PictureSide

    init(_ side: PictureSide, of call: String?) {
        self.call = call
        self.side = side
    }

    var description: String {
        guard let call else { return "the camera without a call" }
        return "the \(side.rawValue) picture of call \(BTCallPath.callID(at: call) ?? call)"
    }
}

/// The pictures of btcall-video, as programs that read or give them need them.
@ControlPlane
protocol PictureSource: AnyObject {
    /// Size and rate of a picture, which stay the same until it ends.
    ///
    /// - Throws: `noSuchCall`; `unavailable` for a remote picture that nobody gives yet; `notSupported` where GStreamer lacks
    ///   something.
    func layout(of picture: TappedPicture) async throws(APIError) -> FrameLayout
    /// Gives a picture's frames to the consumer, on any thread, until `remove`. When the picture ends, or if it has ended
    /// meanwhile, the consumer's `end` is called.
    func add(_ consumer: any FrameConsumer, to picture: TappedPicture)
    /// Once this has returned, the consumer gets nothing more, and is not retained.
    func remove(_ consumer: any FrameConsumer, from picture: TappedPicture)
    /// Begins the remote picture of a call.
    ///
    /// - Returns: takes the frames, of the layout's size; its `end` ends the picture.
    /// - Throws: `noSuchCall`; `wrongState` for a call that has a remote picture; `notSupported`.
    func beginRemote(of call: String, _ layout: FrameLayout) async throws(APIError) -> any FrameConsumer
    /// Object paths of calls that have ended.
    var endings: Signal<String> { get }
}
