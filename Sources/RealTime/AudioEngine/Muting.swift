/// What muting takes from the far end (FEATURES S1.13 to S1.15).
package enum Muting: BitwiseCopyable, Sendable, CaseIterable {
    case off
    /// The microphone: what applications add is still heard.
    case microphone
    /// Everything.
    case everything
}
