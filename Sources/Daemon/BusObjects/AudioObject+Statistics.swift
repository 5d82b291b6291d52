import AudioEngine
import AudioPaths
import BTCallAPI
import BluetoothTypes
import CallControl
import ControlLoop
import DBus

// Levels of the calls and counters of the real-time thread.
extension AudioObject {
    func levels(_: MethodCall) -> [Value] {
        [.vardict(graph.engine.levels().map { LevelsDescription($0).fields } ?? [:])]
    }

    func statisticsValue() -> Value { .vardict(statistics.fields) }

    private var statistics: AudioStatistics {
        let counters = graph.engine.counters()
        var statistics = AudioStatistics()
        statistics.isRealtime = graph.engine.isRealtime
        statistics.cardQueueMs = UInt64(clamping: graph.engine.playbackQueue.milliseconds)
        statistics.lateTicks = UInt64(clamping: counters.lateWakeUps)
        addTerminals(counters, to: &statistics)
        addCalls(counters, to: &statistics)
        addApplications(counters, to: &statistics)
        return statistics
    }

    private func addTerminals(_ counters: EngineCounters, to statistics: inout AudioStatistics) {
        for counter in counters.terminals {
            guard let endpoint = graph.endpoint(ofTerminal: counter.id), let word = DeviceWord(endpoint.description)
            else { continue }
            let terminal = AudioStatistics.Terminal(
                counter, word, codec: graph.codec(ofTerminal: counter.id)?.description)
            statistics.terminals.append(terminal)
            statistics.lost += terminal.framesConcealed + terminal.underruns + terminal.xruns + terminal.droppedBlocks
            statistics.lost += UInt64(clamping: counter.sendFailures)
        }
    }

    private func addCalls(_ counters: EngineCounters, to statistics: inout AudioStatistics) {
        for counter in counters.calls {
            guard let path = audio.paths[counter.id] else { continue }
            var call = AudioStatistics.Call(call: path)
            call.blocksIn = UInt64(clamping: counter.blocksReceived)
            call.blocksOut = UInt64(clamping: counter.blocksSent)
            call.missing = UInt64(clamping: counter.blocksMissing)
            call.dropped = UInt64(clamping: counter.blocksDropped)
            call.queueBlocks = UInt64(clamping: counter.queueBlocks)
            statistics.calls.append(call)
            statistics.lost += call.missing + call.dropped + UInt64(clamping: counter.blocksUnsent)
        }
    }

    private func addApplications(_ counters: EngineCounters, to statistics: inout AudioStatistics) {
        for counter in counters.injections {
            guard let owner = applications.owner(of: counter.id) else { continue }
            var injection = AudioStatistics.Injection(owner: owner)
            injection.blocks = UInt64(clamping: counter.blocksTaken)
            injection.missing = UInt64(clamping: counter.blocksMissing)
            injection.bad = UInt64(clamping: counter.blocksBad)
            statistics.injections.append(injection)
        }
        if let counter = counters.manual, let owner = manual.holder {
            var entry = AudioStatistics.Manual(owner: owner)
            entry.blocksIn = UInt64(clamping: counter.blocksTaken)
            entry.missing = UInt64(clamping: counter.blocksMissing)
            entry.bad = UInt64(clamping: counter.blocksBad)
            entry.blocksOut = UInt64(clamping: counter.blocksGiven)
            entry.dropped = UInt64(clamping: counter.blocksDropped)
            statistics.manual = entry
        }
        for counter in counters.taps {
            guard let tap = taps.tap(counter.id) else { continue }
            var entry = AudioStatistics.Tap(call: tap.call.path, owner: tap.owner)
            entry.blocks = UInt64(clamping: counter.blocksSent)
            entry.dropped = UInt64(clamping: counter.blocksDropped)
            statistics.taps.append(entry)
        }
    }
}

extension AudioStatistics.Terminal {
    fileprivate init(_ counter: EngineCounters.Terminal, _ device: DeviceWord, codec: String?) {
        self.init(
            id: counter.id, device: device, kind: counter.isLink ? .link : counter.bitpool > 0 ? .stream : .path,
            codec: codec)
        packetBytes = UInt32(clamping: counter.packetBytes)
        packetsReceived = UInt64(clamping: counter.packetsReceived)
        packetsSent = UInt64(clamping: counter.packetsSent)
        framesConcealed = UInt64(clamping: counter.framesConcealed)
        sequenceGaps = UInt64(clamping: counter.sequenceGaps)
        underruns = UInt64(clamping: counter.underrunFrames)
        xruns = UInt64(clamping: counter.playbackXruns + counter.captureXruns)
        droppedBlocks = UInt64(clamping: counter.overrunFrames)
        driftPPM = counter.driftPPM
        queuedMs = Double(counter.queuedMilliseconds)
        silentEvents = UInt64(clamping: counter.silences)
        packetsWaited = UInt64(clamping: counter.packetsWaited)
        bitpool = UInt32(clamping: counter.bitpool)
    }
}

extension LevelsDescription {
    fileprivate init(_ levels: EngineLevels) {
        self.init(
            heard: Level(peak: levels.heard.peak, rms: levels.heard.rms),
            said: Level(peak: levels.said.peak, rms: levels.said.rms))
    }
}
