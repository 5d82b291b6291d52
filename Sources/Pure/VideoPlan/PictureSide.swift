/// One of the two pictures of a call.
package enum PictureSide: String, Hashable, Sendable, CaseIterable {
    /// What the far end sees: the camera, or the card.
    case local
    /// What the person at the box sees.
    case remote
}
