import AudioEngine
import BluetoothTypes
import ControlLoop
import Logging
import Routing

// Translates the engine's reports into events.
extension AudioGraph {
    func handleEvents() {
        for event in engine.takeEvents() { handle(event) }
    }

    private func handle(_ event: AudioEngineEvent) {
        switch event {
        case .firstPacket(let identifier, let bytes):
            forLink(identifier) { events.send(.firstPacket($0, bytes: bytes)) }
        case .linkSilent(let identifier, let milliseconds, let standIn):
            // The thread has done what the policy decides now. A later command of ours is still on its way to it.
            if let standIn, commanded == identifier { commanded = standIn }
            forLink(identifier) { events.send(.linkSilent($0, milliseconds: milliseconds)) }
            // The policy may have decided otherwise.
            if standIn != nil { reconcile() }
        case .linkResumed(let identifier, _):
            forLink(identifier) { events.send(.linkResumed($0)) }
        case .terminalFailed(let identifier, let code): failed(identifier, code)
        case .terminalRemoved(let identifier): removed(identifier)
        case .routed(let identifier, let gap):
            routed = identifier
            events.send(.routed(identifier.flatMap(endpoint(ofTerminal:)), gapMicroseconds: gap))
            reconcile()
        case .callStarted: break
        case .callClosed(let call, _): events.send(.callAudioClosed(call))
        case .playbackEnded(let playback): playbackEnded(playback)
        case .injectionEnded(let injection): events.send(.injectionEnded(injection))
        case .speakingWhileMuted: events.send(.speakingWhileMuted)
        case .captureReady(let capture): captures.flowing(capture)
        case .captureFailed(let capture, let code): captures.failed(capture, code)
        case .captureRemoved(let capture):
            captures.removed(capture)
            reconcile()
            if isQuiet { quiet.send() }
        case .microphoneLive(let isLive): events.send(.microphoneLive(isLive))
        case .manualEnded: events.send(.manualEnded)
        case .tapEnded(let tap): events.send(.tapEnded(tap))
        case .deadlineMissed(let count):
            logger.debug("the audio thread was more than 20 ms late \(count) times")
        case .eventsLost(let count): logger.error("\(count) events of the audio engine were lost")
        }
    }

    private func forLink(_ identifier: UInt32, _ body: (BluetoothAddress) -> Void) {
        guard let terminal = terminals.first(where: { $0.identifier == identifier }), terminal.phase == .open,
            case .headset(let address) = terminal.endpoint
        else { return }
        body(address)
    }

    private func failed(_ identifier: UInt32, _ code: Int32) {
        guard let terminal = terminals.first(where: { $0.identifier == identifier }) else { return }
        if commanded == identifier { commanded = nil }
        if routed == identifier { routed = nil }
        guard terminal.phase != .removing else { return }
        retire(terminal)
        terminal.phase = .removing
        terminal.hasFailed = true
        engine.removeTerminal(identifier)
        switch terminal.endpoint {
        case .headset(let address):
            guard terminal.stream == nil else {
                streams?.streamFailed(address, code: code, isRoute: true)
                return
            }
            events.send(.linkLost(address, code: code))
        case .local(let kind):
            guard !terminal.isStandby else {
                refusedStandby = kind
                return
            }
            wantedPaths.remove(kind)
            events.send(.pathFailed(Self.pulled(kind, code)))
        case .output(let device):
            guard let address = terminal.stream else { return outputFailed(device, code) }
            streams?.streamFailed(address, code: code, isRoute: false)
        }
    }

    private static func pulled(_ kind: LocalDevice, _ code: Int32) -> PathError {
        PathError(
            device: kind, what: "\(SystemError(call: "the sound card", code: code))",
            remedy: "plug the card in again; the call goes on with the next device meanwhile")
    }

    private func removed(_ identifier: UInt32) {
        guard let index = terminals.firstIndex(where: { $0.identifier == identifier }) else { return }
        let terminal = terminals.remove(at: index)
        if commanded == identifier { commanded = nil }
        if routed == identifier { routed = nil }
        terminal.close()
        captures.pathRemoved(identifier)
        // A device that failed would fail again at once: it stays refused.
        if case .output = terminal.endpoint, terminal.hasFailed {} else { refusedOutputs.removeAll() }
        if case .headset(let address) = terminal.endpoint, !terminal.hasFailed, terminal.stream == nil {
            events.send(.linkClosed(address))
        }
        reconcile()
        if isQuiet { quiet.send() }
    }
}
