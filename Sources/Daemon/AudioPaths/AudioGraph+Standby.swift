import AudioEngine
import Configuration
import ControlLoop
import Logging
package import Routing

// The device that stands by: the one that would carry the calls if their headset were lost. It is open, silent and without
// its microphone.
//
// Its stream is prepared and not started, so that the audio thread polls nothing for it and does not wake for it. The cut
// fills its queue and starts it. It gives way to everything else that needs a sound card, because one card may serve several
// devices and open once.
//
// The audio thread makes that cut when the headset's link falls silent, and reports it: waiting for this side's command would
// make the silence longer. The policy has decided it before (`RoutingPolicy.standIn`) and decides it again by the report.
extension AudioGraph {
    /// Sets the device that would carry the calls if their headset were lost now; nil: no headset carries them.
    package func setStandby(_ kind: LocalDevice?) {
        guard kind != requestedStandby else { return }
        if let requestedStandby, !wantedPaths.contains(requestedStandby) { prepared.remove(requestedStandby) }
        requestedStandby = kind
        refusedStandby = nil
        reconcile()
    }

    /// Sets whether a device may stand by.
    package func setAllowsStandby(_ isAllowed: Bool) {
        guard isAllowed != allowsStandby else { return }
        allowsStandby = isAllowed
        refusedStandby = nil
        reconcile()
    }

    /// Closes the device that stands by and opens it again, with the present settings of sound cards.
    package func reopenStandby() {
        for terminal in terminals where terminal.isStandby && terminal.phase != .removing { remove(terminal) }
    }

    /// The device that is to stand by now; nil: none.
    var standby: LocalDevice? {
        guard allowsStandby, let requestedStandby, requestedStandby != refusedStandby,
            paths.canStandBy(requestedStandby), !playbacks.contains(where: { needsCard($0) })
        else { return nil }
        return requestedStandby
    }

    /// Whether a sound card is to be opened for a playback alone.
    private func needsCard(_ playback: Playback) -> Bool {
        guard let device = requestedOutput(of: playback) else { return false }
        return !device.isHeadset
    }

    /// Opens the device that is to stand by, once no other sound card is in use or being closed.
    func openStandby() {
        guard let kind = standby, wantedPaths.isEmpty, !captures.isClosing,
            !terminals.contains(where: { $0.isOnCard }), mayOpen(kind)
        else { return }
        do throws(PathError) {
            let path = try paths.openPlayback(kind)
            guard let terminal = add(path.terminal, .local(kind), codec: nil, close: path.close) else {
                path.close()
                throw PathError(
                    device: kind, what: "the audio engine refused it", remedy: "see the lines before in the log")
            }
            terminal.isStandby = true
            if case .path(let streams) = path.terminal { terminal.path = streams }
            logger.debug("\(kind) stands by: \(path.summary)")
        } catch {
            refusedStandby = kind
            logger.info("\(kind) does not stand by (\(error.what)): btcalld opens it when a call moves there")
        }
    }

    /// Prepares the cut to the device that stands by, once its hardware is set.
    func prepareStandIn() {
        let device = terminals.first { $0.isStandby && $0.phase == .open }
        var kind: LocalDevice?
        if case .local(let local)? = device?.endpoint { kind = local }
        if kind != standingBy {
            standingBy = kind
            standbyChanges.send(kind)
        }
        var prepared: StandIn?
        if let device, let link = routedLink {
            prepared = StandIn(link: link.identifier, terminal: device.identifier)
        }
        guard prepared != standIn else { return }
        standIn = prepared
        engine.setStandIn(prepared)
    }

    /// The open voice link to which the calls were commanded last; nil: they are elsewhere.
    private var routedLink: Terminal? {
        guard let wantedRoute, let terminal = terminal(at: wantedRoute), terminal.identifier == commanded,
            terminal.phase == .open, terminal.codec != nil
        else { return nil }
        return terminal
    }

    /// Lets calls use the device that stands by. The far end is heard there before the microphone is open.
    ///
    /// - Throws: why the microphone cannot be used; the device is then being closed.
    func use(_ terminal: Terminal, of kind: LocalDevice) throws(PathError) {
        terminal.isStandby = false
        commandRoute()
        do throws(PathError) {
            if !isPlayOnly { try captures.open(for: kind) }
        } catch {
            remove(terminal)
            throw error
        }
        logger.debug("\(kind) stood by and is used")
        if let path = terminal.path { opened.send((kind, path)) }
    }

    /// Closes the device that stands by when a microphone finds its sound card busy, and has the microphone tried again.
    ///
    /// - Returns: false if no device stood by.
    func giveBackStandby(after error: PathError) -> Bool {
        guard error.cause == .busy, let terminal = terminals.first(where: { $0.isStandby }) else { return false }
        refusedStandby = requestedStandby
        if terminal.phase != .removing { remove(terminal) }
        captures.retry()
        return true
    }
}

extension AudioGraph.Terminal {
    /// Whether it is a sound card.
    var isOnCard: Bool {
        switch endpoint {
        case .local: true
        case .output(let device): !device.isHeadset
        case .headset: false
        }
    }
}
