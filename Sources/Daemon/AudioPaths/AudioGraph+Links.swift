import AudioEngine
package import BluetoothTypes
import ControlLoop

// Voice links of headsets.
extension AudioGraph {
    /// Adds an open link; it is kept alive with silence until a call is routed to it.
    ///
    /// - Parameter speaksAtOnce: the headset has opened it to talk: no beginning of a word is lost.
    package func add(link: OpenAudioLink, of address: BluetoothAddress, speaksAtOnce: Bool = false) {
        let codec: LinkCodec =
            switch link.codec {
            case .cvsd: .cvsd
            case .mSBC: .mSBC
            case .lc3SWB: .lc3SWB
            }
        let kind = TerminalKind.link(
            descriptor: link.descriptor, codec: codec, packetBytesHint: link.packetBytesHint)
        let endpoint = AudioEndpoint.headset(address)
        let terminal = add(
            kind, endpoint, codec: link.codec, handle: link.handle, speaksAtOnce: speaksAtOnce, close: link.close)
        guard let terminal else {
            link.close()
            events.send(.linkLost(address, code: 0))
            return
        }
        engine.setSilentLimit(terminal.identifier, silentLimit)
        if let gain = speakerGains[address] { engine.setSpeakerGain(terminal.identifier, gain) }
        if ownVoices.contains(address) { engine.setOwnVoiceProcessing(terminal.identifier, true) }
    }

    /// Sets the software volume of a headset that has none, on its present link and on later ones.
    ///
    /// - Parameter gain: linear; nil leaves the volume of later links to the headset.
    package func setSpeakerGain(_ gain: Float?, ofLink address: BluetoothAddress) {
        speakerGains[address] = gain
        if let gain, let terminal = linkTerminal(address) {
            engine.setSpeakerGain(terminal.identifier, gain)
        }
    }

    /// Closes a headset's link; `.linkClosed` confirms it. Does nothing without a link.
    package func closeLink(_ address: BluetoothAddress) {
        guard let terminal = linkTerminal(address), terminal.phase == .open else { return }
        terminal.phase = .waitingForCut
        reconcile()
    }

    package func hasLink(_ address: BluetoothAddress) -> Bool {
        linkTerminal(address).map { $0.phase == .open } ?? false
    }

    /// Whether a link exists, including one that is being closed.
    package func holdsLink(_ address: BluetoothAddress) -> Bool {
        terminals.contains { $0.endpoint == .headset(address) && $0.stream == nil && !$0.hasFailed }
    }

    package func codec(ofLink address: BluetoothAddress) -> VoiceCodec? {
        linkTerminal(address).flatMap { $0.phase == .open ? $0.codec : nil }
    }

    /// Sets the limit of the silent-link watchdog, for present and later links; nil adapts it to the link.
    package func setSilentLimit(_ limit: Duration?) {
        silentLimit = limit
        for terminal in terminals where terminal.codec != nil { engine.setSilentLimit(terminal.identifier, limit) }
    }

    /// The engine's number of an open link.
    package func identifier(ofLink address: BluetoothAddress) -> UInt32? { linkTerminal(address)?.identifier }

    /// A headset's voice link; its A2DP stream is a separate terminal.
    private func linkTerminal(_ address: BluetoothAddress) -> Terminal? {
        terminals.first { $0.endpoint == .headset(address) && $0.stream == nil && $0.phase != .removing }
    }
}
