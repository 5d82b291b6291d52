import AudioDSP
import AudioEngine
import BTCallAPI
package import ControlLoop
package import DBus
import Glibc
package import Logging

/// Gives each active call its descriptor: one end of a socket pair to the provider, the other to the engine.
@ControlPlane
package final class CallAudio: CallAudioExchange {
    private let graph: AudioGraph
    private let logger: Logger
    /// Calls that the engine has, by the engine's number, with their object paths.
    package private(set) var paths: [UInt32: String] = [:]

    package init(graph: AudioGraph, logger: Logger) {
        self.graph = graph
        self.logger = logger
    }

    package func begin(_ record: CallRecord) -> PassedDescriptor? {
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_SEQPACKET.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else {
            logger.error("call \(record.uuid) has no audio: \(SystemError("socketpair"))")
            return nil
        }
        // The application's end blocks: what it reads is its clock.
        _ = fcntl(ends[1], F_SETFL, fcntl(ends[1], F_GETFL) & ~O_NONBLOCK)
        let theirs = PassedDescriptor(taking: ends[1])
        do throws(AudioEngineError) {
            let format = record.provider.options.format
            try graph.attachCall(
                record.audioIdentifier, descriptor: ends[0], rate: format.rate, layout: format.layout)
        } catch {
            logger.error("call \(record.uuid) has no audio: \(error)")
            return nil
        }
        paths[record.audioIdentifier] = record.path
        return theirs
    }

    package func end(_ record: CallRecord) {
        guard paths.removeValue(forKey: record.audioIdentifier) != nil else { return }
        graph.detachCall(record.audioIdentifier)
    }

    /// The provider closed its end: the audio is over, the call is not.
    package func closed(_ identifier: UInt32) {
        if let path = paths.removeValue(forKey: identifier) { logger.info("\(path): the provider closed the audio") }
    }
}

extension AudioFormat {
    fileprivate var layout: SampleLayout {
        switch sample {
        case .s16: SampleLayout(.s16, channels: channels)
        case .f32: SampleLayout(.f32, channels: channels)
        }
    }
}
