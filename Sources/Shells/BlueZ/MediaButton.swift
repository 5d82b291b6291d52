/// A button of a headset meant for a player (AVRCP 1.6.2 §4.3), as bluetoothd passes it on. bluetoothd does not say which
/// headset.
package enum MediaButton: String, Hashable, Sendable, CaseIterable {
    case play, pause, playPause, stop, next, previous

    /// The method of `org.mpris.MediaPlayer2.Player` that bluetoothd calls.
    var method: String {
        switch self {
        case .play: "Play"
        case .pause: "Pause"
        case .playPause: "PlayPause"
        case .stop: "Stop"
        case .next: "Next"
        case .previous: "Previous"
        }
    }
}
