import AudioEngine
package import AudioPaths
import BTCallAPI
package import ControlLoop
package import DBus
package import Logging

/// Gives each active call its descriptor: one end of a socket pair to the provider, the other to the engine.
@ControlPlane
package final class CallAudio: CallAudioExchange {
    private let engine: AudioEngine
    private let logger: Logger
    /// Calls attached to the engine, by the engine's number.
    private var records: [UInt32: CallRecord] = [:]
    /// Object paths of those calls, by the engine's number.
    package var paths: [UInt32: String] { records.mapValues(\.path) }
    /// Calls whose audio is the ALSA PCM; the last one supplies the copies for recorders.
    private var pcmCalls: [CallRecord] = []

    package init(graph: AudioGraph, logger: Logger) {
        engine = graph.engine
        self.logger = logger
        graph.events.subscribe(self) { audio, event in
            if case .callAudioClosed(let call) = event { audio.closed(call) }
        }
    }

    package func begin(_ record: CallRecord) -> PassedDescriptor? {
        guard record.provider.options.audio == .descriptor else {
            pcmCalls.append(record)
            givePCM(to: record)
            return nil
        }
        let pair: PassedSocketPair
        do throws(SystemError) {
            pair = try PassedSocketPair()
        } catch {
            logger.error("call \(record.uuid) has no audio: \(error)")
            return nil
        }
        do throws(AudioEngineError) {
            let format = record.provider.options.format
            try engine.attachCall(
                record.audioIdentifier, descriptor: pair.ours, rate: format.rate, layout: format.layout,
                active: true)
        } catch {
            logger.error("call \(record.uuid) has no audio: \(error)")
            return nil
        }
        records[record.audioIdentifier] = record
        gate(record)
        return pair.theirs
    }

    package func end(_ record: CallRecord) {
        if let index = pcmCalls.firstIndex(where: { $0 === record }) {
            pcmCalls.remove(at: index)
            givePCM(to: pcmCalls.last)
        }
        guard records.removeValue(forKey: record.audioIdentifier) != nil else { return }
        engine.detachCall(record.audioIdentifier)
    }

    package func gate(_ record: CallRecord) {
        guard records[record.audioIdentifier] != nil || pcmCalls.last === record else { return }
        engine.setCallGates(record.audioIdentifier, hears: record.media.hears, speaks: record.speaks)
    }

    private func givePCM(to record: CallRecord?) {
        engine.setPCMCall(record?.audioIdentifier)
        if let record { gate(record) }
    }

    /// The provider closed its end: the audio ends, the call continues.
    private func closed(_ identifier: UInt32) {
        guard let record = records.removeValue(forKey: identifier) else { return }
        record.isAudioClosed = true
        logger.info("\(record.path): the provider closed the audio")
    }
}
