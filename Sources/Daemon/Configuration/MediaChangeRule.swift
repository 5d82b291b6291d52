/// Who says yes when an application wants the media of a call to go other ways.
package enum MediaChangeRule: String, Hashable, Sendable, CaseIterable {
    /// Everything is accepted.
    case accept
    /// A client is asked each time.
    case ask
}
