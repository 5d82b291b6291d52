import AudioEngine
import BTCallAPI
import BluetoothTypes
package import ControlLoop
package import DBus

/// `org.btcall.Audio1` at `/org/btcall/audio`: what the real-time thread counted.
@ControlPlane
package final class AudioObject {
    private let graph: AudioGraph
    private let audio: CallAudio

    package init(bus: BusConnection, graph: AudioGraph, audio: CallAudio) {
        self.graph = graph
        self.audio = audio
        bus.export(
            [
                ExportedInterface(
                    BTCallName.Interface.audio,
                    properties: [
                        .init(
                            BTCallName.Audio.statistics, "a{sv}", changes: .silent,
                            get: { [weak self] in .vardict(self?.statistics().fields ?? [:]) })
                    ])
            ], at: BTCallPath.audio)
    }

    private func statistics() -> AudioStatistics {
        let counters = graph.counters()
        var statistics = AudioStatistics()
        statistics.isRealtime = graph.isRealtime
        statistics.cardQueueMs = UInt64((graph.playbackQueue / .milliseconds(1)).rounded())
        statistics.lateTicks = UInt64(clamping: counters.lateWakeUps)
        for counter in counters.terminals {
            guard let endpoint = graph.endpoint(ofTerminal: counter.id), let word = DeviceWord(endpoint.description)
            else {
                continue
            }
            var terminal = AudioStatistics.Terminal(
                id: counter.id, device: word, kind: counter.isLink ? .link : .path,
                codec: graph.codec(ofTerminal: counter.id)?.description)
            terminal.packetBytes = UInt32(clamping: counter.packetBytes)
            terminal.packetsReceived = UInt64(clamping: counter.packetsReceived)
            terminal.packetsSent = UInt64(clamping: counter.packetsSent)
            terminal.framesConcealed = UInt64(clamping: counter.framesConcealed)
            terminal.sequenceGaps = UInt64(clamping: counter.sequenceGaps)
            terminal.underruns = UInt64(clamping: counter.underrunFrames)
            terminal.xruns = UInt64(clamping: counter.playbackXruns + counter.captureXruns)
            terminal.droppedBlocks = UInt64(clamping: counter.overrunFrames)
            terminal.driftPPM = counter.driftPPM
            terminal.queuedMs = Double(counter.queuedMilliseconds)
            terminal.silentEvents = UInt64(clamping: counter.silences)
            statistics.terminals.append(terminal)
            statistics.lost += terminal.framesConcealed + terminal.underruns + terminal.xruns + terminal.droppedBlocks
            statistics.lost += UInt64(clamping: counter.sendFailures)
        }
        for counter in counters.calls {
            guard let path = audio.paths[counter.id] else { continue }
            var call = AudioStatistics.Call(call: path)
            call.blocksIn = UInt64(clamping: counter.blocksReceived)
            call.blocksOut = UInt64(clamping: counter.blocksSent)
            call.missing = UInt64(clamping: counter.blocksMissing)
            call.dropped = UInt64(clamping: counter.blocksDropped)
            statistics.calls.append(call)
            statistics.lost += call.missing + call.dropped + UInt64(clamping: counter.blocksUnsent)
        }
        return statistics
    }
}
