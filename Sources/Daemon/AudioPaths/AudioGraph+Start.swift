package import AudioEngine
import ControlLoop
package import Logging

// Start of the engine, with its warning.
extension AudioGraph {
    /// Starts the engine with its thread.
    ///
    /// - Parameter silentLimit: time without packets after which a link is reported; zero: never.
    package static func started(
        _ configuration: AudioEngineConfiguration, paths: any PathOpening, silentLimit: Duration, logger: Logger
    ) throws(AudioEngineError) -> AudioGraph {
        let engine = try AudioEngine(configuration)
        if !engine.isRealtime { warnOfLateness(engine, configuration, logger) }
        do throws(SystemError) {
            return try AudioGraph(
                engine: engine, paths: paths, silentLimit: silentLimit > .zero ? silentLimit : nil, logger: logger)
        } catch {
            throw .failed(call: error.call, code: error.code)
        }
    }

    private static func warnOfLateness(
        _ engine: AudioEngine, _ configuration: AudioEngineConfiguration, _ logger: Logger
    ) {
        logger.warning(
            """
            the audio thread has no real-time priority: sound cards play \(engine.playbackQueue) late instead of \
            \(configuration.playbackQueue), and a busy machine may still cause drop-outs; give the unit \
            LimitRTPRIO=20 or AmbientCapabilities=CAP_SYS_NICE, and restart it
            """)
    }
}
