import AudioEngine
package import BluetoothTypes
package import Configuration
import Glibc
import Logging
import Routing

// A2DP: a stream that calls are routed to, and streams on which something is heard beside them.
extension AudioGraph {
    /// Takes a stream over that calls are to be routed to; it is closed as a link is.
    ///
    /// - Returns: false when the engine has no room for it.
    package func add(stream: OpenStream) -> Bool {
        let endpoint = AudioEndpoint.headset(stream.address)
        guard let terminal = add(.stream(stream.stream), endpoint, codec: nil, isStream: true, close: stream.close)
        else { return false }
        engine.setStreamDelay(terminal.identifier, milliseconds: stream.delayMilliseconds)
        reconcile()
        return true
    }

    /// Ends the stream to a headset that calls are routed to; `OpenStream.close` says when it is done.
    package func closeStream(_ address: BluetoothAddress) {
        guard let terminal = streamTerminal(address), terminal.phase == .open else { return }
        terminal.phase = .waitingForCut
        reconcile()
    }

    /// Whether calls have a stream to this headset.
    package func hasStream(_ address: BluetoothAddress) -> Bool { streamTerminal(address) != nil }

    private func streamTerminal(_ address: BluetoothAddress) -> Terminal? {
        terminals.first { $0.endpoint == .headset(address) && $0.stream != nil && $0.phase != .removing }
    }

    /// How long a headset takes from the packet to the sound.
    package func setStreamDelay(_ milliseconds: Int, of address: BluetoothAddress) {
        for terminal in terminals where terminal.stream == address {
            engine.setStreamDelay(terminal.identifier, milliseconds: milliseconds)
        }
    }

    /// A stream is there, or is not any more, or a headset is free to play or is not.
    package func streamsChanged() {
        refusedOutputs = refusedOutputs.filter { !$0.isHeadset }
        reconcile()
    }

    /// Whether calls that are heard over A2DP are spoken into the board's microphone.
    package func setStreamMicrophone(isSpoken: Bool) {
        let kind = isSpoken ? [.speakerphone, .earpiece].first { paths.microphone(of: $0) != nil } : nil
        guard kind != streamMicrophone else { return }
        streamMicrophone = kind
        reconcile()
    }

    /// Calls are heard somewhere, or are about to be.
    package var isRouted: Bool { wantedRoute != nil }

    /// The headset that hears the calls of other devices; nil: none.
    package func setListener(_ address: BluetoothAddress?) {
        guard address != listener else { return }
        listener = address
        reconcile()
    }

    /// The listener's device, while there is something to listen to.
    package var listenerOutput: OutputDevice? {
        guard let listener, let wantedRoute, wantedRoute != .headset(listener) else { return nil }
        let device = OutputDevice.bluetooth(listener)
        return isFree(device) ? device : nil
    }

    /// Opens a device of a headset once its stream is there.
    package func openStream(_ device: OutputDevice, of headset: BluetoothAddress) {
        guard let stream = streams?.takeStream(for: headset) else { return }
        guard
            let terminal = add(
                .stream(stream.stream), .output(device), codec: nil, isAlone: true, isStream: true, close: stream.close)
        else {
            // It rests a while, as one that the engine cannot go on with.
            streams?.streamFailed(headset, code: EIO, isRoute: false)
            return stream.close()
        }
        terminal.stream = stream.address
        engine.setStreamDelay(terminal.identifier, milliseconds: stream.delayMilliseconds)
        outputFailures.removeAll { $0.device == device }
        logger.debug("A2DP to \(stream.address) plays beside the calls")
    }

    /// Lets the listener hear the calls, or no more.
    package func followListener() {
        let device = listenerOutput
        for terminal in terminals where terminal.phase == .open {
            guard case .output(let output) = terminal.endpoint, output.isHeadset else { continue }
            let isListening = device != nil && terminal.stream == listener
            guard isListening != terminal.isListening else { continue }
            terminal.isListening = isListening
            engine.setListening(terminal.identifier, isListening)
        }
    }
}

extension OutputDevice {
    package var isHeadset: Bool { if case .bluetooth = self { true } else { false } }
}
