import AudioDSP
import CBTCall
import Glibc

// Terminals: links, sound cards and streams to headsets.
extension AudioEngine {
    /// Adds a device. A link is read and kept alive with silence from now on; a path starts when it is routed.
    ///
    /// - Parameters:
    ///   - id: not in use by a terminal whose `terminalRemoved` has not arrived yet.
    ///   - speakerGain: linear, 0 is silence.
    ///   - microphoneGain: linear, 0 is silence.
    ///   - isAlone: never routed; plays what `addPlayback` gives it from now on.
    ///   - speaksAtOnce: a link whose first 300 ms are not lost, however late it is routed: far ends hear it later by that.
    package func addTerminal(
        _ id: UInt32, _ kind: TerminalKind, speakerGain: Float = 1, microphoneGain: Float = 1, isAlone: Bool = false,
        speaksAtOnce: Bool = false
    ) throws(AudioEngineError) {
        guard terminals[id] == nil else { throw .duplicate(id) }
        guard terminals.count < RealtimeThread.maximumTerminals else {
            throw .tooMany(limit: RealtimeThread.maximumTerminals)
        }
        if !isCodePresent {
            isCodePresent = true
            btcall_prefault_code()
        }
        let device: Terminal.Device
        let rates: (capture: Int, playback: Int)
        switch kind {
        case .link(let descriptor, let codec, let hint):
            if case .pcm(let rate) = codec { try check(rate: rate, channels: 1) }
            let port = LinkPointer.allocate(capacity: 1)
            port.initialize(
                to: LinkPort(
                    descriptor: descriptor, codec: codec, packetBytesHint: hint, speaksAtOnce: speaksAtOnce,
                    bus: configuration.bus, fallbackAfter: configuration.fallbackAfter.wholeNanoseconds,
                    now: btcall_monotonic_nanoseconds()))
            rates = (port.pointee.rate, port.pointee.rate)
            device = .link(port)
        case .path(var streams):
            // The fields of a missing direction are ignored.
            if streams.playback == nil { streams.playbackRate = configuration.busRate }
            if streams.capture == nil { streams.captureRate = configuration.busRate }
            device = .path(try makePath(streams))
            rates = (streams.captureRate, streams.playbackRate)
        case .stream(let media):
            let port = try makeStream(media, speakerGain: speakerGain)
            let timer = try makePath(
                ALSAPath(playbackRate: configuration.busRate, captureRate: configuration.busRate))
            device = .stream(port, timer)
            rates = (configuration.busRate, port.pointee.rate)
        }
        let counters = UnsafeMutablePointer<TerminalCounters>.allocate(capacity: 1)
        counters.initialize(to: TerminalCounters())
        let terminal = TerminalPointer.allocate(capacity: 1)
        terminal.initialize(
            to: Terminal(
                id: id, device, captureRate: rates.capture, playbackRate: rates.playback,
                bus: configuration.bus, speakerGain: speakerGain, microphoneGain: microphoneGain,
                isAlone: isAlone, speaksAtOnce: speaksAtOnce, counters: counters))
        let link = terminal.pointee.link
        if let stream = terminal.pointee.stream { counters.pointee.bitpool.set(stream.pointee.bitpool) }
        terminals[id] = TerminalRecord(
            counters: counters, isLink: link != nil, rate: rates.playback, isFramed: link?.pointee.isFramed ?? false)
        guard send(.addTerminal(terminal)) else {
            terminals[id] = nil
            free(terminal: terminal)
            throw .commandQueueFull
        }
        // A link may die at any time: prepare the slow part of opening a card now, for the rate of most cards.
        if link != nil { AdaptiveResampler.prepare(from: configuration.busRate, to: 48_000) }
    }

    /// Switches to a terminal, or to none. Asynchronous: `routed` reports the switch.
    ///
    /// The switch to a link happens once it receives packets, to a path once it captures; until then the old terminal
    /// carries on.
    package func route(to id: UInt32?) {
        if let id, terminals[id] == nil { return }
        _ = send(.route(id))
    }

    /// Prepares a switch that the thread makes at once when the routed link falls silent; `linkSilent` says whether it did.
    /// Replaces the one that was prepared before; nil withdraws it.
    ///
    /// The thread makes no switch if the calls are on another terminal, if another switch is under way, or if the terminal
    /// no longer exists.
    package func setStandIn(_ standIn: StandIn?) {
        _ = send(.setStandIn(standIn))
    }

    /// Fades a terminal out, lets it play its queue and releases it: `terminalRemoved` follows within the length of its
    /// queue plus 50 ms.
    package func removeTerminal(_ id: UInt32) {
        guard terminals[id] != nil else { return }
        _ = send(.removeTerminal(id))
    }

    /// - Parameter gain: linear; reached by a short ramp.
    package func setSpeakerGain(_ id: UInt32, _ gain: Float) {
        _ = send(.setSpeakerGain(id, gain))
    }

    /// - Parameter gain: linear; reached by a short ramp.
    package func setMicrophoneGain(_ id: UInt32, _ gain: Float) {
        _ = send(.setMicrophoneGain(id, gain))
    }

    /// Sets the time without a sign of life after which a link is reported silent; nil adapts to its pauses
    /// (docs/inside/Routing.md §8).
    package func setSilentLimit(_ id: UInt32, _ limit: Duration?) {
        _ = send(.setSilentLimit(id, nanoseconds: limit.map { max(0, $0.wholeNanoseconds) }))
    }

    /// Prepares the streams, which may take long, and determines the descriptors to poll.
    private func makePath(_ path: ALSAPath) throws(AudioEngineError) -> PathPointer {
        if let playback = path.playback {
            try check(rate: path.playbackRate, channels: path.playbackChannels)
            let code = snd_pcm_prepare(playback)
            if code < 0 { throw .failed(call: "snd_pcm_prepare", code: -code) }
        }
        var (descriptors, count) = (Self.makeDescriptors(), 0)
        if let capture = path.captureStream {
            descriptors.deallocate()
            (descriptors, count) = try watch(capture)
        }
        // Leave room for one tick above the target.
        let wanted = Int(playbackQueue.wholeNanoseconds * Int64(path.playbackRate) / 1_000_000_000)
        let target = max(0, min(wanted, path.playbackBufferFrames - path.playbackRate / 50))
        let port = PathPointer.allocate(capacity: 1)
        port.initialize(
            to: PathPort(
                path, bus: configuration.bus, target: target, descriptors: descriptors,
                descriptorCount: count))
        return port
    }

    func free(terminal: TerminalPointer) {
        switch terminal.pointee.device {
        case .link(let link): link.deinitialize(count: 1).deallocate()
        case .path(let path): path.deinitialize(count: 1).deallocate()
        case .stream(let stream, let path):
            path.deinitialize(count: 1).deallocate()
            stream.deinitialize(count: 1).deallocate()
        }
        terminal.pointee.counters.deinitialize(count: 1).deallocate()
        terminal.deinitialize(count: 1).deallocate()
    }
}
