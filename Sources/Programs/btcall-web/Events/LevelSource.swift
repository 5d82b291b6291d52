import BTCall
import ControlLoop
import JSONText

/// Asks for the levels of the calls four times a second while somebody wants them and there is audio.
@ControlPlane
final class LevelSource {
    private static let interval = Duration.milliseconds(250)
    /// Interval while there is no audio.
    private static let pause = Duration.seconds(1)

    private let bridge: CallBridge
    private let onLevels: @ControlPlane (JSON) -> Void
    private var timer: Timer?
    private var isStopped = false
    private var hadAudio = false

    init(_ bridge: CallBridge, onLevels: @escaping @ControlPlane (JSON) -> Void) {
        self.bridge = bridge
        self.onLevels = onLevels
    }

    func start() { Task { @ControlPlane in await measure() } }

    func stop() {
        isStopped = true
        timer?.cancel()
    }

    private func measure() async {
        // Without the daemon there are none.
        let levels = try? await bridge.audio.levels()
        guard !isStopped else { return }
        if levels != nil || hadAudio { onLevels(Self.json(levels)) }
        hadAudio = levels != nil
        timer = ControlLoop.shared.schedule(after: hadAudio ? Self.interval : Self.pause) { [weak self] in
            self?.start()
        }
    }

    private static func json(_ levels: AudioLevels?) -> JSON {
        func level(_ level: AudioLevels.Level?) -> JSON { level.map { .number($0.rmsDecibels) } ?? .null }
        return [
            "event": "levels", "time": .string(WallClock.now.iso8601), "heard": level(levels?.heard),
            "said": level(levels?.said),
        ]
    }
}
