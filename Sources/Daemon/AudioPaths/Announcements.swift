import AudioDSP
package import AudioEngine
package import BTCallAPI
package import Configuration
package import ControlLoop
package import DBus
import Glibc
package import Logging
package import Routing

/// Playback of programs for the person at the board: on the ringer's device, or over the calls, whose far end is lowered
/// meanwhile.
@ControlPlane
package final class Announcements {
    private static let aheadBlocks = 8
    /// Most programs at once; the ringer and call tones do not count.
    private static let limit = 8
    /// Limit per program, so that no program can use up all places.
    private static let mostPerClient = 4

    private let graph: AudioGraph
    private let playable: Set<LocalDevice>
    private let logger: Logger
    package var configuration: RingConfiguration
    /// Bus name of the program behind each playback; a program occurs once per playback.
    private var players: [String] = []

    /// - Parameter playable: local devices that can play.
    package init(graph: AudioGraph, configuration: RingConfiguration, playable: Set<LocalDevice>, logger: Logger) {
        self.graph = graph
        self.configuration = configuration
        self.playable = playable
        self.logger = logger
    }

    /// Gives a program a descriptor for audio that is played here.
    ///
    /// - Parameters:
    ///   - request: destination (`ring` or `page`) and manner.
    ///   - isStream: the descriptor is a byte stream without message boundaries.
    ///   - busName: the requesting program.
    /// - Throws: `wrongState` when the limit of all programs or of this one is reached, or the device does not exist;
    ///   `fault` if no descriptor can be created.
    package func open(
        _ request: PlaybackRequest, _ format: AudioFormat, isStream: Bool, of busName: String
    ) throws(APIError) -> PassedDescriptor {
        let place = try place(request.destination)
        guard players.count(where: { $0 == busName }) < Self.mostPerClient else {
            throw APIError(
                .wrongState,
                "you play \(Self.mostPerClient) times already, which is the most for one program: close one first")
        }
        guard players.count < Self.limit else {
            throw APIError(
                .wrongState, "\(Self.limit) programs play already, which is the most there can be: close one first")
        }
        let pair: PassedSocketPair
        do throws(SystemError) {
            pair = try PassedSocketPair(isStream: isStream)
        } catch {
            throw APIError(.fault, "no socket for the audio: \(error); see LimitNOFILE of the daemon")
        }
        pair.limit(bytes: Self.aheadBlocks * format.blockFrames * format.layout.frameBytes)
        let source = PlaybackSource.application(
            descriptor: pair.ours, rate: format.rate, layout: format.layout, isStream: isStream)
        do throws(AudioEngineError) {
            _ = try graph.play(source, Self.manner(request), at: place) { [weak self] in
                self?.ended(busName)
            }
        } catch {
            throw APIError(.fault, "the audio engine: \(error)")
        }
        players.append(busName)
        logger.info("\(busName) plays to \(request.destination.rawValue): \(format)\(isStream ? ", as a stream" : "")")
        return pair.theirs
    }

    private func ended(_ busName: String) {
        if let index = players.firstIndex(of: busName) { players.remove(at: index) }
        logger.info("\(busName) has stopped playing")
    }

    /// Plays what a program writes to the ALSA PCM until the graph ends it, with default priority and ducking.
    ///
    /// - Parameter destination: `ring` or `page`.
    /// - Returns: the graph's number of the playback.
    /// - Throws: `wrongState` if the device does not exist, `fault` when the engine has no room.
    package func play(_ memory: PCMMemory, _ destination: PlaybackRequest.Destination) throws(APIError) -> UInt32 {
        let place = try place(destination)
        do throws(AudioEngineError) {
            return try graph.play(.stream(memory), Self.manner(PlaybackRequest(destination)), at: place)
        } catch {
            throw APIError(.fault, "the audio engine: \(error)")
        }
    }

    private static func manner(_ request: PlaybackRequest) -> PlaybackManner {
        var manner = PlaybackManner()
        manner.priority = request.priority
        manner.isMixable = request.isMixable
        manner.duckGain = Float(pow(10, request.duckDecibels / 20))
        manner.gainBesideCalls = manner.duckGain
        return manner
    }

    private func place(_ destination: PlaybackRequest.Destination) throws(APIError) -> PlaybackPlace {
        switch destination {
        case .ring:
            guard let device = configuration.output else { throw Self.noDevice("device") }
            try check(device, "device")
            return .output(device, joins: true)
        case .page:
            guard let device = configuration.pageOutput else { return .route }
            try check(device, configuration.pageDevice == nil ? "device" : "pageDevice")
            // The page device is a headset's A2DP stream: calls take precedence. The playback is silent during calls and
            // continues afterwards.
            if device.isHeadset, !graph.isRouted { return .output(device, joins: false) }
            return .routeOrOutput(device)
        case .call: throw APIError(.fault, "audio for the far end is an injection")
        }
    }

    /// A program that writes to a missing device would wait forever.
    private func check(_ device: OutputDevice, _ key: String) throws(APIError) {
        guard case .local(let kind) = device, !playable.contains(kind) else { return }
        throw APIError(
            .wrongState,
            "[ring] \(key) is \(kind.rawValue), and the configuration has no section [device \(kind.rawValue)] with playback"
        )
    }

    private static func noDevice(_ key: String) -> APIError {
        APIError(.wrongState, "this box does not ring: [ring] \(key) is none in its configuration")
    }
}
