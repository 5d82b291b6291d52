package import AudioEngine
import ControlLoop
import Logging
import Routing

// What the person hears beside the calls, and the devices that are opened for that alone.
//
// Level-triggered as the rest: each playback has a place, and `reconcilePlaybacks` opens and closes devices and moves the
// playbacks so that each is heard where it belongs. A call goes before all of them: a device that a call wants is given back.
extension AudioGraph {
    final class Playback {
        let identifier: UInt32
        let place: PlaybackPlace
        let onEnd: @ControlPlane () -> Void
        var target = PlaybackTarget.nowhere

        init(identifier: UInt32, place: PlaybackPlace, onEnd: @escaping @ControlPlane () -> Void) {
            self.identifier = identifier
            self.place = place
            self.onEnd = onEnd
        }
    }

    /// Lets the person hear something until it is over or ended.
    ///
    /// - Parameter onEnd: called once, after it has faded out; not when the graph is closed.
    /// - Returns: its number, for `endPlayback`.
    package func play(
        _ source: PlaybackSource, _ manner: PlaybackManner, at place: PlaybackPlace,
        onEnd: @escaping @ControlPlane () -> Void = {}
    ) throws(AudioEngineError) -> UInt32 {
        lastPlayback &+= 1
        let playback = Playback(identifier: lastPlayback, place: place, onEnd: onEnd)
        try engine.addPlayback(playback.identifier, source, manner, at: .nowhere)
        playbacks.append(playback)
        refusedOutputs.removeAll()
        reconcile()
        return playback.identifier
    }

    package func endPlayback(_ identifier: UInt32) { engine.endPlayback(identifier) }

    /// Whether devices may be opened for this alone: not while somebody else has the audio hardware.
    package func setAllowsOutputs(_ isAllowed: Bool) {
        guard isAllowed != allowsOutputs else { return }
        allowsOutputs = isAllowed
        reconcile()
    }

    func playbackEnded(_ identifier: UInt32) {
        guard let index = playbacks.firstIndex(where: { $0.identifier == identifier }) else { return }
        playbacks.remove(at: index).onEnd()
        reconcile()
    }

    func reconcilePlaybacks() {
        let wanted = playbacks.compactMap { output(of: $0) }
        for terminal in terminals where terminal.phase != .removing {
            if case .output(let device) = terminal.endpoint, !wanted.contains(device) { remove(terminal) }
        }
        for device in wanted where !refusedOutputs.contains(device) {
            if !terminals.contains(where: { $0.endpoint == .output(device) }) { open(device) }
        }
        for playback in playbacks {
            let target = target(of: playback)
            guard target != playback.target else { continue }
            playback.target = target
            engine.movePlayback(playback.identifier, to: target)
        }
    }

    /// The device that it is to be heard on by itself; nil when it is not.
    private func output(of playback: Playback) -> OutputDevice? {
        switch playback.place {
        case .route: nil
        case .output(let device, _): isFree(device) ? device : nil
        case .routeOrOutput(let device): wantedRoute == nil && isFree(device) ? device : nil
        }
    }

    private func isFree(_ device: OutputDevice) -> Bool {
        guard allowsOutputs, !refusedOutputs.contains(device) else { return false }
        guard case .local(let kind) = device else { return true }
        return !wantedPaths.contains(kind) && !terminals.contains { $0.endpoint == .local(kind) }
    }

    private func target(of playback: Playback) -> PlaybackTarget {
        if let device = output(of: playback) {
            let terminal = terminals.first { $0.endpoint == .output(device) && $0.phase == .open }
            return terminal.map { .terminal($0.identifier) } ?? .nowhere
        }
        switch playback.place {
        case .route, .routeOrOutput: return .routed
        case .output(_, let joins): return joins ? .routed : .nowhere
        }
    }

    private func open(_ device: OutputDevice) {
        do throws(PathError) {
            let path = try paths.openOutput(device)
            guard add(path.terminal, .output(device), codec: nil, isAlone: true, close: path.close) != nil else {
                path.close()
                refusedOutputs.insert(device)
                return
            }
            logger.debug("opened \(device) to play beside the calls: \(path.summary)")
        } catch {
            refusedOutputs.insert(device)
            logger.warning("nothing is played on \(device): \(error.what); \(error.remedy)")
        }
    }
}
