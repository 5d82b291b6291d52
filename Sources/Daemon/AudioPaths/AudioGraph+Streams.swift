import AudioEngine
package import BluetoothTypes
package import Configuration
import Glibc
import Logging
import Routing

// A2DP streams: one that calls are routed to, and those that play beside the calls.
extension AudioGraph {
    /// Adds a stream that calls are routed to; it is closed like a link.
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

    /// Ends the stream that calls are routed to; `OpenStream.close` confirms it.
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

    /// Sets a headset's delay from packet to sound in ms.
    package func setStreamDelay(_ milliseconds: Int, of address: BluetoothAddress) {
        for terminal in terminals where terminal.stream == address {
            engine.setStreamDelay(terminal.identifier, milliseconds: milliseconds)
        }
    }

    /// A stream has come or gone, or a headset has become free to play or busy.
    package func streamsChanged() {
        refusedOutputs = refusedOutputs.filter { !$0.isHeadset }
        reconcile()
    }

    /// Sets whether calls over A2DP use the board's microphone.
    package func setStreamMicrophone(isSpoken: Bool) {
        let kind = isSpoken ? [.speakerphone, .earpiece].first { paths.microphone(of: $0) != nil } : nil
        guard kind != streamMicrophone else { return }
        streamMicrophone = kind
        reconcile()
    }

    /// Whether calls have a route, or are about to have one.
    package var isRouted: Bool { wantedRoute != nil }

    /// Sets the headset that also hears calls of other devices; nil: none.
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

    /// Opens a headset's output device once its stream exists.
    package func openStream(_ device: OutputDevice, of headset: BluetoothAddress) {
        guard let stream = streams?.takeStream(for: headset) else { return }
        guard
            let terminal = add(
                .stream(stream.stream), .output(device), codec: nil, isAlone: true, isStream: true, close: stream.close)
        else {
            // Let it rest for a while, like a stream that the engine gave up.
            streams?.streamFailed(headset, code: EIO, isRoute: false)
            return stream.close()
        }
        terminal.stream = stream.address
        engine.setStreamDelay(terminal.identifier, milliseconds: stream.delayMilliseconds)
        outputFailures.removeAll { $0.device == device }
        logger.debug("A2DP to \(stream.address) plays beside the calls")
    }

    /// Starts or stops playing the calls to the listener.
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
