import ControlLoop
import DBus

// The player whose buttons headsets press (`org.mpris.MediaPlayer2.Player`). It has no tracks and no position: playing is
// the applications' business.
extension MediaSource {
    private var playbackStatus: String { isPlaying ? "Playing" : "Stopped" }

    /// bluetoothd passes on only buttons that a player announces.
    private static let abilities = ["CanControl", "CanPlay", "CanPause", "CanGoNext", "CanGoPrevious"]

    var playerProperties: [String: Value] {
        var properties: [String: Value] = ["Identity": "btcall", "PlaybackStatus": .string(playbackStatus)]
        for ability in Self.abilities { properties[ability] = true }
        return properties
    }

    func playerInterface(_ adapter: String) -> ExportedInterface {
        var methods = MediaButton.allCases.map { button in
            ExportedInterface.Method(button.method) { [weak self] call throws(BusError) in
                try self?.checkSender(call)
                self?.emit(.buttonPressed(button))
                return []
            }
        }
        methods.append(
            .init("Release") { [weak self] call throws(BusError) in
                try self?.checkSender(call)
                self?.released(RegistrationKey(adapter: adapter, part: .player))
                return []
            })
        let abilities = Self.abilities.map { ExportedInterface.Property($0, "b", changes: .constant, get: { true }) }
        return ExportedInterface(
            BlueZNames.player, methods: methods,
            properties: [
                .init("Identity", "s", changes: .constant, get: { "btcall" }),
                .init("PlaybackStatus", "s", get: { [weak self] in .string(self?.playbackStatus ?? "Stopped") }),
            ] + abilities)
    }
}
