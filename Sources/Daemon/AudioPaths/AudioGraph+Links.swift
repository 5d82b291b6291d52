import AudioEngine
package import BluetoothTypes
import ControlLoop

// Voice links of headsets.
extension AudioGraph {
    /// Takes an open link over; it is kept alive with silence until it is routed to.
    package func add(link: OpenAudioLink, of address: BluetoothAddress) {
        let codec: LinkCodec =
            switch link.codec {
            case .cvsd: .cvsd
            case .mSBC: .mSBC
            case .lc3SWB: .lc3SWB
            }
        let kind = TerminalKind.link(
            descriptor: link.descriptor, codec: codec, packetBytesHint: link.packetBytesHint)
        let endpoint = AudioEndpoint.headset(address)
        guard let terminal = add(kind, endpoint, codec: link.codec, handle: link.handle, close: link.close) else {
            link.close()
            events.send(.linkLost(address, code: 0))
            return
        }
        engine.setSilentLimit(terminal.identifier, silentLimit)
        if let gain = speakerGains[address] { engine.setSpeakerGain(terminal.identifier, gain) }
        if ownVoices.contains(address) { engine.setOwnVoiceProcessing(terminal.identifier, true) }
    }

    /// Makes the volume of a headset that cannot, on the link that it has and on later ones.
    ///
    /// - Parameter gain: linear; nil leaves the volume of later links to the headset.
    package func setSpeakerGain(_ gain: Float?, ofLink address: BluetoothAddress) {
        speakerGains[address] = gain
        if let gain, let terminal = linkTerminal(address) {
            engine.setSpeakerGain(terminal.identifier, gain)
        }
    }

    /// Closes the link of a headset; `.linkClosed` says when it is done. Nothing happens when there is none.
    package func closeLink(_ address: BluetoothAddress) {
        guard let terminal = linkTerminal(address), terminal.phase == .open else { return }
        terminal.phase = .waitingForCut
        reconcile()
    }

    package func hasLink(_ address: BluetoothAddress) -> Bool {
        linkTerminal(address).map { $0.phase == .open } ?? false
    }

    /// Whether a link exists, even one that is being closed.
    package func holdsLink(_ address: BluetoothAddress) -> Bool {
        terminals.contains { $0.endpoint == .headset(address) && $0.stream == nil && !$0.hasFailed }
    }

    package func codec(ofLink address: BluetoothAddress) -> VoiceCodec? {
        linkTerminal(address).flatMap { $0.phase == .open ? $0.codec : nil }
    }

    /// The limit of the silent-link watchdog, for the links that are open and for later ones; nil adapts to the link.
    package func setSilentLimit(_ limit: Duration?) {
        silentLimit = limit
        for terminal in terminals where terminal.codec != nil { engine.setSilentLimit(terminal.identifier, limit) }
    }

    /// The engine's number of an open link.
    package func identifier(ofLink address: BluetoothAddress) -> UInt32? { linkTerminal(address)?.identifier }

    /// A headset's voice link; its stream over A2DP is another terminal.
    private func linkTerminal(_ address: BluetoothAddress) -> Terminal? {
        terminals.first { $0.endpoint == .headset(address) && $0.stream == nil && $0.phase != .removing }
    }
}
