/// Extent of muting towards the far end.
package enum Muting: BitwiseCopyable, Sendable, CaseIterable {
    case off
    /// The microphone; injections are still heard. It stays open and is reported as live.
    case microphone
    /// The microphone, because it may not be used: not reported as live.
    case deniedMicrophone
    /// Everything.
    case everything
}
