import AudioEngine
import BluetoothTypes
import Configuration
import ControlLoop
import Logging
package import Routing

// Local devices that calls use.
extension AudioGraph {
    package func openPath(_ kind: LocalDevice) {
        wantedPaths.insert(kind)
        reconcile()
    }

    package func closePath(_ kind: LocalDevice) {
        wantedPaths.remove(kind)
        prepared.remove(kind)
        reconcile()
    }

    /// Sets whether local devices leave separate microphones closed, from their next opening on.
    package func setPlayOnly(_ isPlayOnly: Bool) {
        self.isPlayOnly = isPlayOnly
        reconcile()
    }

    /// Reopens the wired headset if its microphone changes.
    package func setWiredMicrophone(_ isOwn: Bool) {
        guard paths.setWiredMicrophone(isOwn), let open = terminal(at: .local(.wiredHeadset)), !open.isStandby
        else { return }
        // `reconcile` runs when the terminal has ended, and finds the path wanted and not open.
        remove(open)
    }

    /// Sets the call volume of local devices, present and later ones.
    ///
    /// - Parameter gain: linear, 0 is silence; reached by a short ramp.
    package func setLocalSpeakerGain(_ gain: Float) {
        localSpeakerGain = gain
        for terminal in terminals {
            if case .local = terminal.endpoint { engine.setSpeakerGain(terminal.identifier, gain) }
        }
    }

    func openWantedPaths() {
        for kind in wantedPaths.sorted(by: { $0.rawValue < $1.rawValue }) {
            let present = terminal(at: .local(kind))
            present?.phase = .open
            if let present, !present.isStandby { continue }
            do throws(PathError) {
                if let present { try use(present, of: kind) } else { try openForCalls(kind) }
            } catch {
                // Two devices may share a card that opens once: the device that was just left blocks it.
                if error.cause == .busy, giveBackUnwanted() || captures.giveBackUnused() { continue }
                wantedPaths.remove(kind)
                ControlLoop.shared.perform { [weak self] in self?.events.send(.pathFailed(error)) }
            }
        }
    }

    /// Opens a local device with its microphone, unless it has to wait: `reconcile` then runs again.
    private func openForCalls(_ kind: LocalDevice) throws(PathError) {
        let endpoint = AudioEndpoint.local(kind)
        // The ringer has used it until now.
        if let output = terminals.first(where: { $0.endpoint == .output(.local(kind)) }) {
            if output.phase != .removing { remove(output) }
            return
        }
        // The device is still being closed: opening it now would find it busy. `.terminalRemoved` triggers another
        // attempt.
        guard !terminals.contains(where: { $0.endpoint == endpoint }), mayOpen(kind) else { return }
        let hasMicrophone = paths.microphone(of: kind) != nil
        let path = try hasMicrophone ? paths.openPlayback(kind) : paths.openPath(kind)
        do throws(PathError) {
            if !isPlayOnly { try captures.open(for: kind) }
        } catch {
            path.close()
            throw error
        }
        guard add(path.terminal, endpoint, codec: nil, close: path.close) != nil else {
            path.close()
            throw PathError(
                device: kind, what: "the audio engine refused it", remedy: "see the lines before in the log")
        }
        logger.debug("opened \(kind): \(path.summary)")
        if case .path(let streams) = path.terminal { opened.send((kind, streams)) }
    }

    /// Whether a local device can be opened now; after a pending question `reconcile` runs again.
    func mayOpen(_ kind: LocalDevice) -> Bool {
        if prepared.remove(kind) != nil { return true }
        guard let beforeOpening else { return true }
        guard !preparing.contains(kind) else { return false }
        let mustWait = beforeOpening(kind) { [weak self] in
            guard let self else { return }
            preparing.remove(kind)
            if wantedPaths.contains(kind) || standby == kind { prepared.insert(kind) }
            reconcile()
        }
        if mustWait { preparing.insert(kind) }
        return !mustWait
    }

    /// Closes unwanted local devices at once, without waiting for the cut.
    ///
    /// - Returns: whether there are any: `.terminalRemoved` then triggers `reconcile`.
    private func giveBackUnwanted() -> Bool {
        var isAny = false
        for terminal in terminals {
            switch terminal.endpoint {
            case .local(let kind) where !wantedPaths.contains(kind): break
            case .output: break
            case .local, .headset: continue
            }
            isAny = true
            if terminal.phase != .removing { remove(terminal) }
        }
        return isAny
    }
}
