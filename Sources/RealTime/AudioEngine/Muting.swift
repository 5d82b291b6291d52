/// Extent of muting towards the far end.
package enum Muting: BitwiseCopyable, Sendable, CaseIterable {
    case off
    /// The microphone; injections are still heard.
    case microphone
    /// Everything.
    case everything
}
