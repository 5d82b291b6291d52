package import AudioEngine
import BluetoothTypes
package import Configuration
import ControlLoop
import Logging
import Routing

// Playbacks that the person hears beside the calls, and the devices that are opened only for them.
//
// Level-triggered like the rest: each playback has a place, and `reconcilePlaybacks` opens and closes devices and moves
// playbacks to where they belong. Calls take precedence: a device that a call wants is released.
extension AudioGraph {
    package final class Playback {
        package let identifier: UInt32
        package let place: PlaybackPlace
        package let onEnd: @ControlPlane () -> Void
        package var target = PlaybackTarget.nowhere

        package init(identifier: UInt32, place: PlaybackPlace, onEnd: @escaping @ControlPlane () -> Void) {
            self.identifier = identifier
            self.place = place
            self.onEnd = onEnd
        }
    }

    /// Why a device does not play.
    package struct OutputFailure: Equatable, Sendable {
        package let device: OutputDevice
        package let error: PathError
    }

    /// Time between two attempts to open a device that has something to play.
    private static let retryInterval = Duration.seconds(1)

    /// Plays a source for the person at the board, until it ends or is ended.
    ///
    /// - Parameter onEnd: called once, after the fade-out; not called when the graph is closed.
    /// - Returns: the engine's number of the playback, for `AudioEngine.endPlayback`.
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

    /// Sets whether devices may be opened for playbacks alone: not while another program has the audio hardware.
    package func setAllowsOutputs(_ isAllowed: Bool) {
        guard isAllowed != allowsOutputs else { return }
        allowsOutputs = isAllowed
        reconcile()
    }

    package func playbackEnded(_ identifier: UInt32) {
        guard let index = playbacks.firstIndex(where: { $0.identifier == identifier }) else { return }
        playbacks.remove(at: index).onEnd()
        reconcile()
    }

    package func reconcilePlaybacks() {
        let wanted = playbacks.compactMap { output(of: $0) } + [listenerOutput].compactMap { $0 }
        var headsets: Set<BluetoothAddress> = []
        for case .bluetooth(let headset?) in wanted { headsets.insert(headset) }
        streams?.setWanted(headsets)
        for terminal in terminals where terminal.phase != .removing {
            if case .output(let device) = terminal.endpoint, !wanted.contains(device) { remove(terminal) }
        }
        for device in wanted where !refusedOutputs.contains(device) {
            if !terminals.contains(where: { $0.endpoint == .output(device) }) { open(device) }
        }
        followListener()
        for playback in playbacks {
            let target = target(of: playback)
            guard target != playback.target, !(target == .nowhere && isFadingOut(playback.target)) else { continue }
            playback.target = target
            engine.movePlayback(playback.identifier, to: target)
        }
        followRefusals()
    }

    /// A stream fades out together with its playback; `reconcile` runs when it has ended.
    private func isFadingOut(_ target: PlaybackTarget) -> Bool {
        guard case .terminal(let identifier) = target else { return false }
        return terminals.contains {
            $0.identifier == identifier && $0.stream != nil && $0.phase == .removing && !$0.hasFailed
        }
    }

    /// Retries refused devices while something wants to play on them, and reports the failure meanwhile.
    private func followRefusals() {
        let requested = playbacks.compactMap { requestedOutput(of: $0) }
        if !requested.contains(where: refusedOutputs.contains) {
            outputRetry?.cancel()
            outputRetry = nil
        } else if outputRetry == nil {
            outputRetry = ControlLoop.shared.schedule(after: Self.retryInterval) { [weak self] in
                self?.outputRetry = nil
                self?.refusedOutputs.removeAll()
                self?.reconcile()
            }
        }
        outputFailures.removeAll { !requested.contains($0.device) }
        let failure = outputFailures.first
        // A device that is being closed may be the cause; `reconcile` runs when it has ended.
        let isEarly = failure != nil && terminals.contains { $0.phase == .removing }
        guard !isEarly, failure != saidFailure else { return }
        saidFailure = failure
        events.send(.outputFailed(failure))
    }

    private func refuse(_ device: OutputDevice, _ error: PathError) {
        refusedOutputs.insert(device)
        let failure = OutputFailure(device: device, error: error)
        if let index = outputFailures.firstIndex(where: { $0.device == device }) {
            outputFailures[index] = failure
        } else {
            outputFailures.append(failure)
        }
    }

    /// The engine reports that the device failed.
    package func outputFailed(_ device: OutputDevice, _ code: Int32) {
        let error = SystemError(call: "the sound card", code: code)
        refuse(device, Self.error(device, "\(error)", "plug the card in again: it is tried each second"))
    }

    /// The device that has to be opened for a playback; nil if none, or if it was refused.
    private func output(of playback: Playback) -> OutputDevice? {
        requestedOutput(of: playback).flatMap { refusedOutputs.contains($0) ? nil : $0 }
    }

    /// The same, including refused devices. "Any headset" is resolved to one headset here, so that playbacks that name the
    /// headset share its stream, and a call takes the stream from all of them.
    func requestedOutput(of playback: Playback) -> OutputDevice? {
        var device: OutputDevice
        switch playback.place {
        case .route: return nil
        case .output(let output, _): device = output
        case .routeOrOutput(let output):
            guard wantedRoute == nil else { return nil }
            device = output
        }
        if device == .bluetooth(nil) { device = .bluetooth(streams?.chosen) }
        return isFree(device) ? device : nil
    }

    package func isFree(_ device: OutputDevice) -> Bool {
        guard allowsOutputs else { return false }
        switch device {
        case .pcm: return true
        case .bluetooth(let headset): return (headset ?? streams?.chosen).flatMap { streams?.isFree($0) } ?? false
        case .local(let kind):
            return !wantedPaths.contains(kind) && !terminals.contains { $0.endpoint == .local(kind) && !$0.isStandby }
        }
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
        if case .bluetooth(let headset) = device {
            if let headset { openStream(device, of: headset) }
            return
        }
        // It is being closed, and may have the card; `reconcile` runs when it has ended.
        guard !terminals.contains(where: \.isStandby) else { return }
        do throws(PathError) {
            let path = try paths.openOutput(device)
            guard add(path.terminal, .output(device), codec: nil, isAlone: true, close: path.close) != nil else {
                path.close()
                throw Self.error(device, "the audio engine refused it", "see the lines before in the log")
            }
            outputFailures.removeAll { $0.device == device }
            logger.debug("opened \(device) to play beside the calls: \(path.summary)")
        } catch {
            refuse(device, error)
        }
    }

    private static func error(_ device: OutputDevice, _ what: String, _ remedy: String) -> PathError {
        let kind: LocalDevice = if case .local(let kind) = device { kind } else { .speakerphone }
        return PathError(device: kind, what: what, remedy: remedy)
    }
}
