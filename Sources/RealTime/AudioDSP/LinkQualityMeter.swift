/// The quality of the last few seconds, so that a recovery raises it, and of everything since the start.
///
/// Time is that of the pieces that are added: what is not watched, such as a call on hold, is no time to it.
package struct LinkQualityMeter: Equatable, Sendable {
    /// The longest window has so many pieces, whatever their length.
    package static let maximumPieces = 64

    /// Over everything that was added.
    package private(set) var total = LinkQuality()
    /// Over the latest pieces that last as long as the window; of a longer one nothing is cut off.
    package private(set) var recent = LinkQuality()
    private let window: Duration
    private var pieces: [LinkQuality] = []

    package init(window: Duration) {
        self.window = window
    }

    package mutating func add(_ piece: LinkQuality) {
        total += piece
        pieces.append(piece)
        while pieces.count > Self.maximumPieces || remainder() >= window { pieces.removeFirst() }
        recent = pieces.reduce(LinkQuality()) { $0 + $1 }
    }

    /// How long the pieces last without the first one.
    private func remainder() -> Duration {
        guard pieces.count > 1 else { return .zero }
        return pieces.dropFirst().reduce(Duration.zero) { $0 + $1.duration }
    }
}
