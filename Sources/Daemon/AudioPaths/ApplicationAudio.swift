import AudioDSP
import AudioEngine
package import BTCallAPI
package import ControlLoop
package import DBus
package import Logging

/// Audio that applications add to the microphone, and both volumes towards the far end.
@ControlPlane
package final class ApplicationAudio {
    /// Requested buffer ahead of playback. The kernel counts its own overhead, so the actual amount is 40 to 130 ms.
    private static let aheadBlocks = 8
    /// Limit per program, so that no program can use up all places.
    private static let mostPerClient = 4
    private let engine: AudioEngine
    private let logger: Logger
    /// Bus name of the program that opened each injection, by the engine's number.
    private var owners: [UInt32: String] = [:]
    /// Injections that replace the microphone.
    private var replacements: Set<UInt32> = []
    /// Called when the first audio that replaces the microphone begins, and when the last ends.
    package var onReplacement: (@ControlPlane (_ isReplaced: Bool) -> Void)?
    private var lastIdentifier: UInt32 = 0

    /// 0…1, linear; 1 leaves the samples unchanged.
    package private(set) var microphoneVolume = 1.0
    package private(set) var applicationVolume = 1.0

    package init(graph: AudioGraph, logger: Logger) {
        engine = graph.engine
        self.logger = logger
        graph.events.subscribe(self) { audio, event in
            if case .injectionEnded(let injection) = event { audio.ended(injection) }
        }
    }

    /// Gives an application a descriptor; what it writes is mixed into the audio to the far end of all calls.
    ///
    /// - Parameters:
    ///   - isStream: the descriptor is a byte stream without message boundaries.
    ///   - replacesMicrophone: the far end does not hear the microphone until the program closes the descriptor.
    ///   - busName: the requesting program.
    /// - Throws: `wrongState` when the limit of all programs or of this one is reached, `fault` if no descriptor can be
    ///   created.
    package func open(
        _ format: AudioFormat, isStream: Bool, replacesMicrophone: Bool = false, of busName: String
    ) throws(APIError) -> PassedDescriptor {
        guard owners.values.count(where: { $0 == busName }) < Self.mostPerClient else {
            throw APIError(
                .wrongState,
                "you add audio \(Self.mostPerClient) times already, which is the most for one program: close one first")
        }
        let pair: PassedSocketPair
        do throws(SystemError) {
            pair = try PassedSocketPair(isStream: isStream)
        } catch {
            throw APIError(.fault, "no socket for the audio: \(error); see LimitNOFILE of the daemon")
        }
        pair.limit(bytes: Self.aheadBlocks * format.blockFrames * format.layout.frameBytes)
        let identifier = lastIdentifier &+ 1
        do throws(AudioEngineError) {
            try engine.attachInjection(
                identifier, descriptor: pair.ours, rate: format.rate, layout: format.layout, isStream: isStream)
        } catch {
            guard case .tooMany(let limit) = error else { throw APIError(.fault, "the audio engine: \(error)") }
            throw APIError(
                .wrongState, "\(limit) programs add audio already, which is the most there can be: close one first")
        }
        lastIdentifier = identifier
        owners[identifier] = busName
        let use = replacesMicrophone ? "replaces the microphone by its audio" : "adds audio to the microphone"
        logger.info("\(busName) \(use): \(format)\(isStream ? ", as a stream" : "")")
        if replacesMicrophone {
            replacements.insert(identifier)
            onReplacement?(true)
        }
        return pair.theirs
    }

    /// The unique bus name of the program that opened an injection.
    package func owner(of identifier: UInt32) -> String? { owners[identifier] }

    /// The application has closed its end.
    private func ended(_ identifier: UInt32) {
        guard let owner = owners.removeValue(forKey: identifier) else { return }
        logger.info("\(owner) has stopped adding audio to the microphone")
        if replacements.remove(identifier) != nil { onReplacement?(!replacements.isEmpty) }
    }

    package func setMicrophoneVolume(_ volume: Double) throws(APIError) {
        microphoneVolume = try Self.checked(volume)
        engine.setMicrophoneVolume(Float(volume))
    }

    package func setApplicationVolume(_ volume: Double) throws(APIError) {
        applicationVolume = try Self.checked(volume)
        engine.setApplicationVolume(Float(volume))
    }

    private static func checked(_ volume: Double) throws(APIError) -> Double {
        guard volume >= 0, volume <= 1 else {
            throw APIError(.invalidArgument, "the volume \(volume) is not accepted; accepted: 0.0 to 1.0")
        }
        return volume
    }
}
