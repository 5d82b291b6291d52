import AudioDSP
import AudioEngine
package import AudioPaths
import BTCallAPI
package import BluetoothTypes
package import ControlLoop
import Telephony

/// Watches the audio of calls: reads the engine's counters once in a while, and whenever something changes.
///
/// One device carries the audio of all calls, so that what it did counts for each call that had audio at the time. While
/// no call has audio nothing runs.
@ControlPlane
package final class CallQualityMonitor {
    private struct Watched {
        let record: CallRecord
        var score: Int?
        var carrier: CallHistory.Carrier?
        /// What its application had given and taken when that was looked at last.
        var exchange = Exchange()
        /// When it last gave and took some; never before the call was active.
        var exchangedAt: Instant
        var hasExchanged = false
        /// What the device did since then.
        var held = LinkQuality()
        var heldBytes = 0
    }

    /// Blocks of a call's audio that its application has given and taken.
    private struct Exchange {
        var given = 0
        var taken = 0
    }

    /// Properties of a call that are other than before.
    package let changes = Signal<(CallRecord, [String])>()
    /// An application exchanges the audio of its call, or does so no more.
    package let exchanges = Signal<Void>()
    private let graph: AudioGraph
    private let interval: Duration
    private let window: Duration
    private let patience: Duration
    private var known: [CallRecord] = []
    /// Those that have audio.
    private var watched: [Watched] = []
    private var timer: Timer?
    /// The terminal that carries the calls, and what was counted of it when it was read last.
    private var terminal: (identifier: UInt32, reading: LinkQuality, at: Instant)?

    /// - Parameters:
    ///   - interval: between two readings.
    ///   - window: over which the recent quality is.
    ///   - patience: how long an application may exchange nothing before the quality counts as unknown.
    package init(
        graph: AudioGraph, calls: CallDirectory, interval: Duration, window: Duration, patience: Duration
    ) {
        self.patience = patience
        self.graph = graph
        self.interval = interval
        self.window = window
        calls.endings.subscribe(self) { $0.ended($1) }
        calls.changes.subscribe(self) { $0.take($1) }
        graph.events.subscribe(self) { $0.take($1) }
    }

    /// Whether a call has audio, and is looked at once in a while.
    package var isWatching: Bool { timer != nil }

    private func take(_ event: AudioGraph.Event) {
        switch event {
        case .firstPacket, .linkSilent: sample()
        case .linkLost, .pathFailed, .routed: follow()
        case .linkResumed, .linkClosed, .callAudioClosed, .injectionEnded, .speakingWhileMuted, .microphoneReady,
            .microphoneOpened, .microphoneFailed, .microphoneLive, .manualEnded, .tapEnded, .outputFailed:
            break
        }
    }

    private func take(_ change: CallDirectory.Change) {
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

    /// Another device may carry the audio from here on, or none.
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

    /// Something happened that is to be seen at once.
    private func sample() {
        guard !watched.isEmpty else { return }
        read()
        announce()
    }

    /// The link of a headset has to be set up once more.
    package func retried(_ address: BluetoothAddress) {
        for record in known { record.history?.retry(.headset(address)) }
        announce()
    }

    // MARK: Calls

    private func consider(_ record: CallRecord) { record.hasSpeech ? watch(record) : leave(record) }

    private func watch(_ record: CallRecord) {
        guard !watched.contains(where: { $0.record === record }) else { return }
        // What was before is the others'.
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
        // One that is gone has been read when it went.
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

    /// Nil for audio that does not go by blocks, and of an application that has closed it.
    private func exchange(of record: CallRecord) -> Exchange? {
        graph.engine.counters(ofCall: record.audioIdentifier).map {
            Exchange(given: $0.blocksReceived, taken: $0.blocksSent)
        }
    }

    /// What a device does to the audio of a call says something only while its application exchanges any.
    private func followExchange(_ index: Int, at now: Instant) {
        let call = watched[index]
        let isExchanging = isExchanging(call)
        if isExchanging {
            watched[index].hasExchanged = true
            keep(index)
        }
        if isExchanging || call.record.call.state != .active { watched[index].exchangedAt = now }
        let isUnexchanged = watched[index].exchangedAt.duration(to: now) >= patience
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

    /// Counts what the device has done for the call.
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
