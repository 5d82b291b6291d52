import AudioDSP
import AudioEngine
package import AudioPaths
import BTCallAPI
package import BluetoothTypes
package import ControlLoop
import Telephony

/// Measures the audio of calls: reads the engine's counters at an interval and after each change.
///
/// One device carries the audio of all calls, so its figures count for each call that has audio at the time. No timer runs
/// while no call has audio.
@ControlPlane
package final class CallQualityMonitor {
    private struct Watched {
        let record: CallRecord
        var score: Int?
        var carrier: CallHistory.Carrier?
        /// Blocks exchanged with the application at the last reading.
        var exchange = Exchange()
        /// When the application last exchanged blocks; at the earliest, when the call became active.
        var exchangedAt: Instant
        var hasExchanged = false
        /// Figures of the device since then.
        var held = LinkQuality()
        var heldBytes = 0
    }

    /// Blocks of a call's audio that its application has sent and received.
    private struct Exchange {
        var given = 0
        var taken = 0
    }

    /// Properties of a call that have changed.
    package let changes = Signal<(CallRecord, [String])>()
    /// An application has started or stopped exchanging the audio of its call.
    package let exchanges = Signal<Void>()
    private let graph: AudioGraph
    private let interval: Duration
    private let window: Duration
    private let timeout: Duration
    private var known: [CallRecord] = []
    /// Calls that have audio.
    private var watched: [Watched] = []
    private var timer: Timer?
    /// The terminal that carries the calls, with its counters at the last reading.
    private var terminal: (identifier: UInt32, reading: LinkQuality, at: Instant)?

    /// - Parameters:
    ///   - interval: time between two readings.
    ///   - window: period covered by the recent quality.
    ///   - timeout: how long an application may exchange nothing before the quality counts as unknown.
    package init(
        graph: AudioGraph, calls: CallDirectory, interval: Duration, window: Duration, timeout: Duration
    ) {
        self.timeout = timeout
        self.graph = graph
        self.interval = interval
        self.window = window
        calls.endings.subscribe(self) { $0.ended($1) }
        calls.changes.subscribe(self) { $0.handle($1) }
        graph.events.subscribe(self) { $0.handle($1) }
    }

    /// Whether a call has audio and is read at an interval.
    package var isWatching: Bool { timer != nil }

    private func handle(_ event: AudioGraph.Event) {
        switch event {
        case .firstPacket, .linkSilent: sample()
        case .linkLost, .pathFailed, .routed: follow()
        case .linkResumed, .linkClosed, .callAudioClosed, .injectionEnded, .speakingWhileMuted, .microphoneReady,
            .microphoneOpened, .microphoneFailed, .microphoneLive, .manualEnded, .tapEnded, .outputFailed:
            break
        }
    }

    private func handle(_ change: CallDirectory.Change) {
        switch change {
        case .added(let record):
            record.history = CallHistory(window: window)
            known.append(record)
            consider(record)
        case .changed(let record): consider(record)
        case .ended: break
        }
    }

    private func ended(_ record: CallRecord) {
        leave(record)
        known.removeAll { $0 === record }
    }

    /// Called when another device, or none, may carry the audio from now on.
    private func follow() {
        guard !watched.isEmpty else { return }
        read()
        let routed = graph.routedTerminal
        guard routed != terminal?.identifier else { return announce() }
        terminal = routed.flatMap(begin)
        let now = WallClock.now
        for call in watched {
            if let terminal, let carrier = carrier(terminal.identifier) {
                call.record.history?.begin(carrier, at: now)
            } else {
                call.record.history?.end(at: now)
            }
        }
        announce()
    }

    /// Reads and announces at once, after an event.
    private func sample() {
        guard !watched.isEmpty else { return }
        read()
        announce()
    }

    /// Counts another attempt to set up a headset's link.
    package func retried(_ address: BluetoothAddress) {
        for record in known { record.history?.retry(.headset(address)) }
        announce()
    }

    // MARK: Calls

    private func consider(_ record: CallRecord) { record.hasSpeech ? watch(record) : leave(record) }

    private func watch(_ record: CallRecord) {
        guard !watched.contains(where: { $0.record === record }) else { return }
        // The figures so far belong to the other calls.
        read()
        if watched.isEmpty { terminal = graph.routedTerminal.flatMap(begin) }
        let now = ControlLoop.now
        watched.append(
            Watched(
                record: record, score: record.history?.meter.recent.score, exchange: exchange(of: record) ?? Exchange(),
                exchangedAt: now))
        if let terminal, let carrier = carrier(terminal.identifier) {
            record.history?.begin(carrier, at: .now)
        }
        announce()
        if timer == nil { startTimer() }
    }

    private func leave(_ record: CallRecord) {
        guard watched.contains(where: { $0.record === record }) else { return }
        read()
        if let index = watched.firstIndex(where: { $0.record === record }), watched[index].hasExchanged {
            keep(index)
        }
        record.history?.end(at: .now)
        setUnexchanged(false, record)
        announce()
        watched.removeAll { $0.record === record }
        guard watched.isEmpty else { return }
        terminal = nil
        timer?.cancel()
        timer = nil
    }

    private func startTimer() {
        timer = ControlLoop.shared.schedule(after: interval) { [weak self] in
            guard let self else { return }
            startTimer()
            sample()
        }
    }

    // MARK: Readings

    private func begin(_ identifier: UInt32) -> (identifier: UInt32, reading: LinkQuality, at: Instant)? {
        guard let counters = graph.engine.counters(ofTerminal: identifier) else { return nil }
        return (identifier, counters.quality, ControlLoop.now)
    }

    private func carrier(_ identifier: UInt32) -> CallHistory.Carrier? {
        guard let endpoint = graph.endpoint(ofTerminal: identifier) else { return nil }
        var carrier = CallHistory.Carrier(
            endpoint, codec: graph.codec(ofTerminal: identifier), handle: graph.handle(ofTerminal: identifier))
        carrier.packetBytes = graph.engine.counters(ofTerminal: identifier)?.packetBytes ?? 0
        return carrier
    }

    private func read() {
        let now = ControlLoop.now
        // A terminal that has gone was read when it went.
        if let before = terminal, let counters = graph.engine.counters(ofTerminal: before.identifier) {
            let reading = counters.quality
            var piece = reading.since(before.reading)
            piece.duration = before.at.duration(to: now)
            terminal = (before.identifier, reading, now)
            for index in watched.indices {
                watched[index].held += piece
                watched[index].heldBytes = counters.packetBytes
            }
        }
        for index in watched.indices { followExchange(index, at: now) }
    }

    // MARK: Exchange with the application

    /// Nil for audio without blocks, and for an application that has closed its audio.
    private func exchange(of record: CallRecord) -> Exchange? {
        graph.engine.counters(ofCall: record.audioIdentifier).map {
            Exchange(given: $0.blocksReceived, taken: $0.blocksSent)
        }
    }

    /// Counts the device's figures only while the application exchanges audio; without audio they mean nothing.
    private func followExchange(_ index: Int, at now: Instant) {
        let call = watched[index]
        let isExchanging = isExchanging(call)
        if isExchanging {
            watched[index].hasExchanged = true
            keep(index)
        }
        if isExchanging || call.record.call.state != .active { watched[index].exchangedAt = now }
        let isUnexchanged = watched[index].exchangedAt.duration(to: now) >= timeout
        if isUnexchanged { watched[index].held = LinkQuality() }
        watched[index].exchange = exchange(of: call.record) ?? call.exchange
        setUnexchanged(isUnexchanged, call.record)
    }

    private func isExchanging(_ call: Watched) -> Bool {
        guard call.record.provider.options.audio == .descriptor else { return true }
        guard let now = exchange(of: call.record) else { return false }
        let audio = call.record.media.audio
        return (!audio.receives || now.given > call.exchange.given) && (!audio.sends || now.taken > call.exchange.taken)
    }

    /// Adds the device's figures to the call's history.
    private func keep(_ index: Int) {
        guard watched[index].held != LinkQuality() else { return }
        watched[index].record.history?.add(watched[index].held, packetBytes: watched[index].heldBytes)
        watched[index].held = LinkQuality()
    }

    private func setUnexchanged(_ isUnexchanged: Bool, _ record: CallRecord) {
        guard record.isUnexchanged != isUnexchanged else { return }
        record.isUnexchanged = isUnexchanged
        exchanges.send()
    }

    private func announce() {
        for index in watched.indices {
            let record = watched[index].record
            let score = record.isUnexchanged ? nil : record.history?.meter.recent.score
            let carrier = record.history?.carrier
            var names: [String] = []
            if score != watched[index].score { names.append(BTCallName.Call.quality) }
            if carrier != watched[index].carrier { names.append(BTCallName.Call.link) }
            watched[index].score = score
            watched[index].carrier = carrier
            if !names.isEmpty { changes.send((record, names)) }
        }
    }
}
