/// Decides an application's request to change the media of a call.
package enum MediaChangeRule: String, Hashable, Sendable, CaseIterable {
    /// Every request is accepted.
    case accept
    /// A client is asked each time.
    case ask
}
