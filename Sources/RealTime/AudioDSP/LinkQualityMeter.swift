/// Quality of the last few seconds, so that a recovery raises it, and of everything since the start.
///
/// Only the added pieces count as time; unobserved time, such as a call on hold, does not.
package struct LinkQualityMeter: Equatable, Sendable {
    /// Maximum number of pieces in the window, whatever their length.
    package static let maximumPieces = 64

    /// Over all pieces.
    package private(set) var total = LinkQuality()
    /// Over the latest pieces that span the window; a longer piece is not cut.
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

    /// Duration of the pieces without the first one.
    private func remainder() -> Duration {
        guard pieces.count > 1 else { return .zero }
        return pieces.dropFirst().reduce(Duration.zero) { $0 + $1.duration }
    }
}
